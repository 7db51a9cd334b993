"""Whatever text is asked, both searches answer it over a real index without an exception."""

from __future__ import annotations

import datetime

from hypothesis import given
from hypothesis import strategies as st

from literature_agent.sandbox import Corpus
from literature_agent.sandbox.europepmc_query import parse_europepmc
from literature_agent.sandbox.europepmc_search import search_europepmc_index
from literature_agent.sandbox.pubmed_query import parse_pubmed
from literature_agent.sandbox.pubmed_search import search_pubmed_index

TODAY = datetime.date(2026, 11, 30)

PIECES = [
    *("metformin", "heart failure", "dement*", '"', "“", "(", ")", "[", "]", ":", "*", "/", "-", "\x00", "'", "%", "é"),
    *(" AND ", " OR ", " NOT ", " AND NOT ", " TO ", "[ti]", "[mh]", "[mh:noexp]", "[dp]", "[au]", "[pt]", "[sb]"),
    *("[pmid]", "[tiab:~2]", "[nosuch]", "2015", "2015/02/30", "0", "99999999999", "last 99999 years[dp]", "[18F]"),
    *("TITLE:", "SRC:", "EXT_ID:", "PUB_YEAR:", "FIRST_PDATE:[", "CITED:[", "sort_cited:y ", "AUTH:", "OPEN_ACCESS:"),
    *("NEAR(", "{title} : ", "^", "+", "title:", "\ud7ff", "\U0001f600", "ﬁ", "²", "٣"),
]
QUERIES = st.one_of(st.lists(st.sampled_from(PIECES), max_size=12).map("".join), st.text(max_size=60))


@given(QUERIES)
def test_pubmed_answers_any_text(small_corpus: Corpus, query: str) -> None:
    outcome = search_pubmed_index(small_corpus.pubmed, parse_pubmed(query), today=TODAY)
    assert outcome.entries <= small_corpus.pubmed.everything()
    small_corpus.pubmed.scores(outcome.ranking)


@given(QUERIES)
def test_europe_pmc_answers_any_text(small_corpus: Corpus, query: str) -> None:
    tree = parse_europepmc(query).tree
    if tree is not None:
        found = search_europepmc_index(small_corpus.europepmc.index, tree, synonyms=True)
        assert found.entries <= small_corpus.europepmc.index.everything()
        small_corpus.europepmc.index.scores(found.ranking)


@given(st.sampled_from(["metformin[tiab]", "dementia", "heart failure[mh]"]), st.sampled_from(["aspirin", "2015[dp]"]))
def test_a_filter_never_raises_the_count(small_corpus: Corpus, query: str, extra: str) -> None:
    def count(text: str) -> int:
        return len(search_pubmed_index(small_corpus.pubmed, parse_pubmed(text), today=TODAY).entries)

    assert count(f"({query}) AND {extra}") <= count(query) <= count(f"({query}) OR {extra}")
