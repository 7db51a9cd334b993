"""Families: works linked by evidence (preprint, paper, notices, trial) are one study, and count as one."""

from __future__ import annotations

from collections.abc import Iterator

from literature_agent.registry.stores import Store
from literature_agent.registry.works import Work


def work_at(number: int, store: Store) -> Work:
    """The work of a number that a name or a link leads to."""
    work = store.work(number)
    assert work is not None, "a name leads to a work that is not there"
    return work


def family_of(work: Work, store: Store) -> list[Work]:
    """The works of one study, the published paper first; `store` is being read."""
    if _is_alone(work, store):
        return [work]
    if work.is_notice:
        about = [other for other in _noticed(work, store) if not other.is_notice]
        if about:
            return family_of(min(about, key=lambda other: other.number), store)
        members = [work, *(other for other in _sharing(work, store) if other.is_notice)]
    else:
        members = _versions(work, store)
        members += [notice for member in members for notice in _noticed(member, store) if notice.is_notice]
    distinct = {member.number: member for member in members}
    return sorted(distinct.values(), key=lambda each: (each.is_notice, each.is_trial, each.is_preprint, each.number))


def _is_alone(work: Work, store: Store) -> bool:
    """Whether the work names no other record and is named by none, as most are."""
    versions, notices = work.links
    return not versions and not notices and not any(store.linkers(identity) for identity in work.keys)


def _versions(work: Work, store: Store) -> list[Work]:
    """The works joined to `work` by evidence, notices left out: a notice about ten papers joins none of them."""
    seen = {work.number: work}
    waiting = [work]
    while waiting:
        current = waiting.pop()
        near = [other for other in _near(current, store) if not other.is_notice]
        near += [other for other in _noticed(current, store) if not other.is_notice]
        for other in near:
            if other.number not in seen:
                seen[other.number] = other
                waiting.append(other)
    return list(seen.values())


def _near(work: Work, store: Store) -> list[Work]:
    """`_linked` without the links between a trial and a paper that pools several: that is a study of its own."""
    others = list(_linked(work, store))
    if work.is_trial:
        return [other for other in others if other.is_trial or len(_trials(other, store)) < 2]
    if len({other.number for other in others if other.is_trial}) < 2:
        return others
    return [other for other in others if not other.is_trial]


def _trials(work: Work, store: Store) -> set[int]:
    return {other.number for other in _linked(work, store) if other.is_trial}


def _linked(work: Work, store: Store) -> Iterator[Work]:
    """Works that name this one as a version or are named by it, and those that name the same unheld record."""
    for target in work.links.versions:
        owner = store.owner(target)
        if owner is not None:
            yield work_at(owner, store)
            continue
        for number in store.linkers(target):
            other = work_at(number, store)
            # Two trials that name one paper were pooled in it.
            pooled = work.is_trial and other.is_trial
            if number != work.number and not pooled and target in other.links.versions:
                yield other
    for identity in work.keys:
        for number in store.linkers(identity):
            if identity in (other := work_at(number, store)).links.versions:
                yield other


def _noticed(work: Work, store: Store) -> Iterator[Work]:
    """Held works that this one is a notice about, or that are notices about it."""
    for target in work.links.notices:
        owner = store.owner(target)
        if owner is not None:
            yield work_at(owner, store)
    for identity in work.keys:
        for number in store.linkers(identity):
            if identity in (other := work_at(number, store)).links.notices:
                yield other


def _sharing(work: Work, store: Store) -> Iterator[Work]:
    for target in work.links.notices:
        for number in store.linkers(target):
            yield work_at(number, store)
