"""References: written form, check character, lenient reading, near misses, edits of prose."""

from __future__ import annotations

import re
import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from literature_agent.registry import Reference, find_references, near, remove_references, replace_references
from literature_agent.registry.references import ALPHABET, is_key, normalise_key

KEYS = [Reference.for_identity(f"doi:10.5555/synthetic.{number}").key for number in range(25)]
A, B, C = (str(Reference(key)) for key in KEYS[:3])
KEY_A, KEY_B = KEYS[:2]


def test_a_reference_is_written_in_one_form() -> None:
    """The example of the design has a right check character."""
    reference = Reference("K7QX2MDA4T")
    assert str(reference) == "«artifact:link:cite~K7QX2MDA4T»"
    assert Reference.parse(str(reference)) == reference


def test_the_reference_of_an_identity_never_changes() -> None:
    """Stored answers depend on it."""
    assert Reference.for_identity("doi:10.5555/a").key == "PZJKQX2SAG"


def test_the_next_hash_round_gives_another_key() -> None:
    keys = {Reference.for_identity("pmid:90000001", round=number).key for number in range(20)}
    assert len(keys) == 20


@pytest.mark.parametrize(
    "key", ["", "K7QX2MDA4", "K7QX2MDA4TT", "K7QX2MDA4V", "k7qx2mda4t", "K7QX2MDAUT", "K7QX2MDA4\n"]
)
def test_what_is_no_key_is_refused_by_name(key: str) -> None:
    with pytest.raises(ValueError, match="no reference key"):
        Reference(key)


def test_every_single_substitution_is_caught() -> None:
    """All places, all characters."""
    for key in KEYS:
        for at, old in enumerate(key):
            for new in ALPHABET:
                assert is_key(key[:at] + new + key[at + 1 :]) is (new == old)


def test_every_swap_of_neighbours_is_caught() -> None:
    for key in KEYS:
        for at, (left, right) in enumerate(pairwise(key)):
            assert is_key(key[:at] + right + left + key[at + 2 :]) is (left == right)


@given(st.text(alphabet=ALPHABET, min_size=9, max_size=9), st.integers(0, 8), st.sampled_from(ALPHABET))
def test_a_changed_character_is_caught_in_any_key(body: str, at: int, new: str) -> None:
    key = next(key for check in ALPHABET if is_key(key := body + check))
    assert is_key(key[:at] + new + key[at + 1 :]) is (key[at] == new)


@given(st.text(min_size=1, max_size=40))
def test_the_key_of_any_identity_is_valid(identity: str) -> None:
    assert is_key(Reference.for_identity(identity).key)


@pytest.mark.parametrize(
    "spelled",
    [
        "«artifact:link:cite~{}»",
        "<<artifact:link:cite~{}>>",
        "<artifact:link:cite~{}>",
        "[artifact:link:cite~{}]",
        "artifact:link:cite~{}",
        "cite~{}",
        "[cite~{}]",
        "« artifact:link:cite~{} »",
        "«ARTIFACT:LINK:CITE~{}»",
        r"cite\~{}",
        "«artifact:link:cite:pubmed~{}»",
        "«artifact:link:cite~{}",
    ],
)
def test_reading_is_lenient(spelled: str) -> None:
    """Forms that models write."""
    for key in (KEY_A, KEY_A.lower()):
        token = spelled.format(key)
        for before, after in [("", ""), ("Effect (", ")."), ("x ", ", and"), ("_", "_")]:
            (found,) = find_references(before + token + after)
            assert (found.key, found.check_ok) == (KEY_A, True)
            assert found.raw == token
            assert (found.start, found.end) == (len(before), len(before) + len(token))
            assert found.reference == Reference(KEY_A)


def test_letters_that_look_like_digits_are_read_as_digits() -> None:
    """Crockford's confusions: O for 0, I and L for 1."""
    key = next(
        key
        for number in range(1000)
        if {"0", "1"} <= set(key := Reference.for_identity(f"doi:10.5555/{number}").key) and key.count("1") > 1
    )
    confused = key.replace("0", "o").replace("1", "l", 1).replace("1", "I")
    assert Reference.parse(f"«artifact:link:cite~{confused}»") == Reference(key)
    assert normalise_key(confused) == key


def test_brackets_of_the_sentence_stay_outside_the_token() -> None:
    text = f"see [cite~{KEY_A}, cite~{KEY_B}] and [{A}] and (cite~{KEY_A})"
    assert [found.raw for found in find_references(text)] == [
        f"cite~{KEY_A}",
        f"cite~{KEY_B}",
        A,
        f"cite~{KEY_A}",
    ]


@pytest.mark.parametrize("text", ["", "we cite~ others", "excite~K7QX2MDA4T", "«quoted» text", "artifact: link", "«»"])
def test_prose_that_only_resembles_a_reference_is_left_alone(text: str) -> None:
    assert list(find_references(text)) == []


@pytest.mark.parametrize(
    ("token", "key"),
    [
        ("«artifact:link:cite~K7QX2MDA4»", "K7QX2MDA4"),
        ("«artifact:link:cite~K7QX2MDA4TX»", "K7QX2MDA4TX"),
        ("«artifact:link:cite~K7QX2MDA4V»", "K7QX2MDA4V"),
        ("«artifact:link:cite~K7QX2MDAUT»", "K7QX2MDAUT"),
        ("«artifact:link:cite~»", ""),
        ("cite~abc", "ABC"),
    ],
)
def test_malformed_tokens_are_found_and_reported(token: str, key: str) -> None:
    (found,) = find_references(f"As shown {token}.")
    assert (found.raw, found.key, found.check_ok, found.reference) == (token, key, False, None)


@given(st.text(alphabet=st.sampled_from("«»<>[]()ac:~itefklnr 09KXcite"), max_size=200))
def test_tokens_lie_in_order_and_spell_what_they_say(text: str) -> None:
    end = 0
    for found in find_references(text):
        assert end <= found.start < found.end
        assert text[found.start : found.end] == found.raw
        end = found.end


@pytest.mark.parametrize(
    "text",
    [
        "«" * 1_000_000,
        "cite~" * 200_000,
        "artifact:link:" * 71_000,
        "[ " * 500_000,
        "cite:a:b" * 125_000,
        " " * 1_000_000 + "cite~K",
        "cite~" + "A" * 1_000_000,
        (A + " ") * 30_000,
        (A + ", ") * 30_000,
        "(" * 500_000 + A + ")" * 500_000,
    ],
    ids=range(10),
)
def test_a_megabyte_of_anything_is_read_in_linear_time(text: str) -> None:
    """Ten times the text in far less than the hundred times that a quadratic pass would take."""

    def took(part: str) -> float:
        began = time.thread_time()
        list(find_references(part))
        remove_references(part, {KEY_A})
        return time.thread_time() - began

    short = took(text[-len(text) // 10 :])
    assert took(text) < 40 * short + 1


# Near misses


def test_a_typo_is_answered_with_the_one_shown_key() -> None:
    """Every substitution, swap, insertion and deletion of every key."""
    shown = set(KEYS)
    for key in KEYS[:5]:
        for at in range(10):
            assert near(key[:at] + key[at + 1 :], shown) == key
            for character in ALPHABET:
                changed = key[:at] + character + key[at + 1 :]
                assert near(changed, shown) == (None if changed == key else key)
                assert near(key[:at] + character + key[at:], shown) == key
        for at, (left, right) in enumerate(pairwise(key)):
            if left != right:
                assert near(key[:at] + right + left + key[at + 2 :], shown) == key


def test_a_typo_of_a_written_reference_is_answered_in_the_form_given() -> None:
    assert near(f"«artifact:link:cite~{KEY_A[:-1]}»", [A, B]) == A
    assert near(KEY_A[:-1].lower(), [Reference(KEY_A), B]) == A
    assert near(f"cite~{KEY_A[:-1]}", KEYS) == KEY_A


def test_a_valid_key_is_never_taken_for_a_typo() -> None:
    assert near(KEY_A, [B]) is None
    assert near(KEY_A, [KEY_A]) is None


def test_a_typo_near_to_nothing_or_to_several_is_not_guessed() -> None:
    assert near("ZZZZZZZZZZ", KEYS) is None
    assert near(KEY_A[:-2], KEYS) is None
    assert near("", KEYS) is None
    # Two keys that differ in their last two characters are both one edit from the string that drops one of them.
    body = KEY_A[:8]
    pairs = [body + left + right for left in ALPHABET for right in ALPHABET if is_key(body + left + right)]
    assert near(body + pairs[0][8], pairs[:1]) == pairs[0]
    crossed = body + pairs[0][8] + pairs[1][9]
    assert near(crossed, pairs[:2]) is None


# Edits of prose


def test_references_are_replaced_and_nothing_else() -> None:
    text = f"«Quoted» {A}; cite~{KEY_A.lower()} and {B}."
    assert replace_references(text, {KEY_A: C}) == f"«Quoted» {C}; {C} and {B}."
    assert replace_references(text, {}) == text


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Two effects ({b}), ({a}).", "Two effects ({b})."),
        ("({a}), ({b})", "({b})"),
        ("An effect {a}.", "An effect."),
        ("An effect ({a}; {b}).", "An effect ({b})."),
        ("An effect ({b}; {a}) here", "An effect ({b}) here"),
        ("({b}, {a}, {c})", "({b}, {c})"),
        ("({a}, {a}, {c})", "({c})"),
        ("{b}, {c} and {a}.", "{b} and {c}."),
        ("{a}, {b} and {c}.", "{b} and {c}."),
        ("{b}, {a} and {c}.", "{b} and {c}."),
        ("{b}, {a}, and {c}.", "{b}, and {c}."),
        ("{b} and {a} agree", "{b} agree"),
        ("{a} showed it", "showed it"),
        ("(p<0.05; {a}) here", "(p<0.05) here"),
        ("({a}; p<0.05) here", "(p<0.05) here"),
        ("(see {a}) here", "here"),
        ("It works (see also {a}).", "It works."),
        ("It works (e.g. {a}).", "It works."),
        ("x ({a} in mice; {b} in rats)", "x (in mice; {b} in rats)"),
        ("one\n{a} two", "one\ntwo"),
        ("one {a}\ntwo", "one\ntwo"),
        ("x {a}, which", "x, which"),
        ("x, {a} two", "x, two"),
        ("x, {a}, which", "x, which"),
        ("[{a}] here", "here"),
        ("{a}{a} {b}", "{b}"),
        ("one{a}two", "one two"),
        ("one({a})two", "one two"),
        ("one ({a})({b})", "one ({b})"),
        ("one {a}–{b}", "one {b}"),
        ("one {a}|{b}", "one {b}"),
        ("one **{a}**, `{a}`", "one"),
        ("{a}", ""),
        ("[{b}, [{a}]]", "[{b}]"),
        ("[{b}, ({a}; {a}), {c}]", "[{b}, {c}]"),
        ("({a}, , {b})", "({b})"),
        ("({b}, , {a})", "({b})"),
        ("({b}, {a}, , {c})", "({b}, {c})"),
        ("(see {a}.) So", "So"),
        ("({a}: p<0.05)", "(p<0.05)"),
        ("one {a} , two", "one, two"),
        ("one; {a}, two", "one, two"),
        ("One. {a}. Two", "One. Two"),
        ("One. {a}, two", "One. two"),
        ("one — {a} — two", "one — two"),
        ("“one {a}”", "“one”"),
        ("below {a} .5", "below .5"),
        ("nothing", "nothing"),
        ("({b})", "({b})"),
    ],
)
def test_removing_a_reference_leaves_no_trace_of_it(text: str, left: str) -> None:
    """K078: only the exact token goes, no `()` is left."""
    names = {"a": A, "b": B, "c": C}
    assert remove_references(text.format(**names), {KEY_A}) == left.format(**names)


def test_removing_a_later_marker_keeps_the_last_valid_one() -> None:
    """K077."""
    assert remove_references(f"first {A}. second {B}.", {KEY_B}) == f"first {A}. second."


def test_a_key_that_another_one_starts_with_is_removed_alone() -> None:
    """K078: r2 is removed, r12 stays; here a malformed key that is the beginning of a good one."""
    text = f"(cite~{KEY_A[:4]}), (cite~{KEY_A})"
    assert remove_references(text, {KEY_A[:4]}) == f"(cite~{KEY_A})"
    assert remove_references(text, {KEY_A}) == f"(cite~{KEY_A[:4]})"


PIECES = st.sampled_from(
    [A, B, C, " ", ", ", "; ", " and ", "(", ")", "[", "]", ". ", "word", "\n", "«quote»", "p<0.05"]
)


@given(st.lists(PIECES, max_size=30).map("".join))
def test_removing_keeps_all_other_references_and_all_words(text: str) -> None:
    kept = remove_references(text, {KEY_A})
    assert [found.key for found in find_references(kept)] == [
        found.key for found in find_references(text) if found.key != KEY_A
    ]
    joints = {"and", "or"}

    def words(of: str) -> list[str]:
        bare = "".join(character if character.isalnum() else " " for character in of)
        return [word for word in bare.replace(A, " ").split() if word not in joints]

    assert words(replace_references(kept, dict.fromkeys(KEYS, " "))) == words(
        replace_references(text, dict.fromkeys(KEYS, " "))
    )


STRAY = re.compile(
    r"[(\[]\s*[,;.:!?)\]]|[,;]\s*[)\]]|[,;:]\s*[,;.:!?]|[.!?:]\s*[,;.:!?]|[ \t]+[,;.:!?)\]]|[(\[][ \t]+|[ \t]{2}"
)
PUNCTUATED = st.sampled_from([A, A, B, C, " ", ", ", ",", " ,", "; ", ": ", ". ", "(", ")", "[", "]", "word", " word"])


@given(st.lists(PUNCTUATED, max_size=12).map("".join))
def test_removing_leaves_no_punctuation_alone(text: str) -> None:
    def strays(of: str) -> int:
        return len(STRAY.findall(replace_references(of, dict.fromkeys(KEYS, "w")).strip()))

    assert strays(remove_references(text, {KEY_A})) <= strays(text)


@given(st.lists(PIECES, max_size=30).map("".join))
def test_removing_nothing_changes_nothing(text: str) -> None:
    assert remove_references(text, set()) == text
    assert remove_references(text, {KEYS[9]}) == text
