"""The one door for XML: what it refuses, and what it makes of mixed content."""

from __future__ import annotations

from pathlib import Path

import pytest

from literature_agent.errors import SourceError
from literature_agent.sources import _xml
from literature_agent.sources._xml import child, children, drop_namespaces, local_name, parse_xml, text_of


def text(inner: str) -> str:
    return text_of(parse_xml(f"<x>{inner}</x>".encode(), "pubmed"))


def test_doctype_of_real_answers_is_accepted_and_not_read() -> None:
    body = b'<?xml version="1.0" ?>\n<!DOCTYPE A PUBLIC "-//NLM//DTD A//EN" "https://dtd.nlm.nih.gov/a.dtd">\n<A>x</A>'
    assert text_of(parse_xml(body, "pubmed")) == "x"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"  \n",
        b'<?xml version="1.0"?><!DOCTYPE PubmedArticleSet SYSTEM "p.dtd">',
        b"<a><b>cut off",
        b"<a></b>",
        b"plain text",
        b'{"error": "json"}',
        b"<a>&#1;</a>",
    ],
)
def test_what_is_no_whole_document_is_an_invalid_response(body: bytes) -> None:
    """K015."""
    with pytest.raises(SourceError) as broken:
        parse_xml(body, "europepmc")
    assert broken.value.reason == "europepmc_invalid_response"
    assert broken.value.retryable


@pytest.mark.parametrize("address", ["{file}", "file://{file}", "http://127.0.0.1:9/secret.dtd"])
def test_dtd_is_never_fetched(tmp_path: Path, address: str) -> None:
    """K032: the entity that the file would define stays undefined."""
    file = tmp_path / "secret.dtd"
    file.write_text('<!ENTITY stolen "contents of the file">', encoding="utf-8")
    body = f'<!DOCTYPE x SYSTEM "{address.format(file=file)}"><x>before &stolen; after</x>'
    assert text_of(parse_xml(body.encode(), "pubmed")) == "before &stolen; after"


@pytest.mark.parametrize(
    "declaration",
    [
        '<!ENTITY own "value">',
        '<!ENTITY own SYSTEM "file:///etc/hostname">',
        '<!ENTITY % own SYSTEM "http://127.0.0.1:9/x"> %own;',
    ],
)
def test_document_with_entities_of_its_own_is_refused(declaration: str) -> None:
    """K032."""
    with pytest.raises(SourceError) as refused:
        parse_xml(f"<!DOCTYPE x [{declaration}]><x>&own;</x>".encode(), "pubmed")
    assert refused.value.reason == "pubmed_invalid_response"


def test_entity_bomb_is_refused_at_once() -> None:
    """K032: in text and in an attribute."""
    levels = "".join(
        f'<!ENTITY {name} "{f"&{inner};" * 10}">' for inner, name in zip("abcdefgh", "bcdefghi", strict=True)
    )
    bomb = f'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">{levels}]>'
    for content in ("<x>&i;</x>", '<x y="&i;"/>'):
        with pytest.raises(SourceError):
            parse_xml((bomb + content).encode(), "pubmed")


def test_many_numeric_references_are_no_bomb() -> None:
    """K033."""
    assert text("&#x3b2;" * 30_000) == "β" * 30_000


def test_bytes_keep_their_encoding() -> None:
    """K030: UTF-8 without a declaration, and a declared other one."""
    assert text("17β-estradiol") == "17β-estradiol"
    latin = '<?xml version="1.0" encoding="ISO-8859-1"?><x>é</x>'.encode("latin-1")
    assert text_of(parse_xml(latin, "pubmed")) == "é"
    assert text_of(parse_xml(b"\xef\xbb\xbf<x>a</x>", "pubmed")) == "a"


def test_document_above_the_cap_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_xml, "LARGEST_DOCUMENT", 1024 * 1024)
    with pytest.raises(SourceError, match="larger than 1 MB"):
        parse_xml(b"<x>" + b" " * 1024 * 1024 + b"</x>", "pubmed")


@pytest.mark.parametrize(
    ("inner", "line"),
    [
        ("Risk at the <i>TERT</i> gene region", "Risk at the TERT gene region"),
        ("BCL-X<sub>L</sub> and SnO<sub>2</sub> films", "BCL-XL and SnO2 films"),
        ("1.73 m<sup>2</sup> of body, 40 kg m<sup>−2</sup>", "1.73 m² of body, 40 kg m⁻²"),
        ("2.5 × 10<sup>18</sup> cm<sup>-3</sup>", "2.5 × 10¹⁸ cm⁻³"),
        ("CD8<sup>+</sup> and <sup>13</sup>C", "CD8+ and ¹³C"),
        ("a<!-- note -->b<?pi data?>c", "abc"),
        ("<p>A</p><p>B</p>", "A B"),
        ("before<DispFormula>E</DispFormula>after", "before E after"),
        ("<title>Box 1</title><p>Summary.</p>", "Box 1 Summary."),
        ("<surname>Smith</surname><given-names>J</given-names>", "Smith J"),
        ("<source>J Syn</source>. <year>2018</year>;<volume>172</volume>:1", "J Syn. 2018;172:1"),
        ("<year>2018</year><volume>172</volume>", "2018 172"),
        ("", ""),
    ],
)
def test_mixed_content_keeps_every_word_in_its_place(inner: str, line: str) -> None:
    """K023, K024, K038, K039."""
    assert text(inner) == line


@pytest.mark.parametrize(
    ("formula", "line"),
    [
        ("<mi>x</mi>", "x"),
        ("<msub><mi>V</mi><mrow><mn>2</mn><mi>max</mi></mrow></msub>", "V2max"),
        ("<msup><mi>x</mi><mn>2</mn></msup>", "x²"),
        ("<msup><mi>e</mi><mrow><mo>-</mo><mi>t</mi></mrow></msup>", "e^(-t)"),
        ("<msup><mi>x</mi><mi>n</mi></msup>", "x^n"),
        ("<msubsup><mi>R</mi><mtext>pre</mtext><mn>2</mn></msubsup>", "Rpre²"),
        ("<mfrac><mn>1</mn><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow></mfrac>", "1/(a+b)"),
        ("<msqrt><mn>2</mn></msqrt>", "√2"),
        ("<mroot><mi>x</mi><mn>3</mn></mroot>", "x^(1/3)"),
        ("<mi>p</mi><mo>&lt;</mo><mn>0.05</mn>", "p < 0.05"),
        (
            "<semantics><mrow><mi>x</mi></mrow><annotation>\\x</annotation><annotation-xml><ci>x</ci></annotation-xml>"
            "</semantics>",
            "x",
        ),
        ("\n  <mrow>\n    <mi>a</mi>\n    <mi>b</mi>\n  </mrow>\n", "ab"),
        ("<mstyle>where <mi>x</mi> is</mstyle>", "wherexis"),
    ],
)
def test_formula_is_a_line_of_text(formula: str, line: str) -> None:
    """K025: in any namespace prefix, or none; the words around it stay."""
    assert text(f"a <math>{formula}</math>, b") == f"a {line}, b"
    prefixed = formula.replace("</", "\0").replace("<", "<mml:").replace("\0", "</mml:")
    assert text(f"a <mml:math xmlns:mml='http://m'>{prefixed}</mml:math>, b") == f"a {line}, b"


def test_tex_is_shown_only_where_it_is_the_only_form() -> None:
    tex = "<tex-math>\\documentclass{minimal}\\begin{document}$$x^2$$\\end{document}</tex-math>"
    assert text(f"a <alternatives>{tex}<math><mi>y</mi></math></alternatives> b") == "a y b"
    assert text(f"a {tex} b") == "a x^2 b"


def test_named_entity_of_the_unread_dtd_is_decoded_by_name() -> None:
    body = b'<!DOCTYPE x SYSTEM "x.dtd"><x>a&nbsp;b &beta;&unheard; <i>c</i></x>'
    assert text_of(parse_xml(body, "pubmed")) == "a b β&unheard; c"


def test_elements_are_found_by_local_name() -> None:
    """K035."""
    root = parse_xml(b"<a:r xmlns:a='u'><!-- c --><a:b><c>1</c></a:b><a:b><c>2</c></a:b></a:r>", "pubmed")
    assert [text_of(one) for one in children(root, "b")] == ["1", "2"]
    assert text_of(child(root, "b", "c")) == "1"
    assert child(root, "nothing", "c") is None
    assert list(children(None, "b")) == []
    assert [local_name(node) for node in root] == ["", "b", "b"]
    drop_namespaces(root)
    assert [node.tag for node in root.iter("r", "b")] == ["r", "b", "b"]


@pytest.mark.parametrize(
    ("inner", "line"),
    [
        ("one two", "one two"),
        (" one  two ", "one two"),
        ("one\ntwo", "one two"),
        ("one\ttwo", "one two"),
        ("one&#13;two", "one two"),
        ("one &amp;amp; two", "one & two"),
        ("on&#127;e two", "one two"),
        ("one tw&#xAD;o", "one two"),
        ("P &lt; 0.05 &amp;amp; more", "P < 0.05 & more"),
        ("&lt;i&gt;one&lt;/i&gt; two", "one two"),
        ("one \u2013  two\u00a0three", "one \u2013 two three"),
        ("al&amp;#xAD;pha \u2013 beta", "alpha \u2013 beta"),
    ],
)
def test_a_leaf_is_cleaned_like_any_text(inner: str, line: str) -> None:
    """Plain ASCII takes a short way, which must leave nothing unclean."""
    assert text(inner) == line
    assert text(f"{inner}<!-- mark -->") == line


def test_text_of_nothing_is_empty() -> None:
    assert text_of(None) == ""
