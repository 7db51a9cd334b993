"""The report as a document of its own, and as a notebook shows it."""

from __future__ import annotations

import base64
import json
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from literature_agent.outputs import LiteratureAggregationOutput
from literature_agent.render._plain import paper_line

if TYPE_CHECKING:
    from jinja2 import Environment

HEIGHT = 720
"""Of the report inside a notebook, in pixels."""


def render_answer_html(output: LiteratureAggregationOutput) -> str:
    """The report of an answer: an HTML document that holds all it needs and asks nothing of any network.

    Text of papers and of models stays text. Its policy (CSP) admits the style sheet and the script of this package,
    each by its hash, and nothing else.
    """
    from literature_agent.render.html._page import page_of

    page = page_of(output)
    style, script = _file("report.css"), _file("report.js")
    return (
        _environment()
        .get_template("report.html")
        .render(
            page=page,
            style=style,
            script=script,
            policy=_policy(style, script),
            data=_embedded(page.data),
        )
    )


def render_notebook_html(output: LiteratureAggregationOutput) -> str:
    """The report in a frame, so that its style and script touch nothing of the notebook."""
    from markupsafe import Markup

    # In this frame the report is of another origin than the notebook: it reaches nothing of it.
    return Markup(
        '<iframe title="Literature report" sandbox="allow-scripts allow-popups allow-downloads" '
        'style="width: 100%; height: {}px; border: 1px solid #8888" srcdoc="{}"></iframe>'
    ).format(HEIGHT, render_answer_html(output))


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    return Environment(
        loader=PackageLoader("literature_agent.render.html"),
        autoescape=True,
        undefined=StrictUndefined,
        # Nothing that is printed can hide or turn characters; what is markup of ours already was made so.
        finalize=lambda value: value if isinstance(value, Markup) or not isinstance(value, str) else paper_line(value),
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _file(name: str) -> str:
    return files("literature_agent.render.html").joinpath("templates", name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    allowed = {"style-src": style, "script-src": script}
    hashes = [f"{kind} 'sha256-{_digest(text)}'" for kind, text in allowed.items()]
    return "; ".join(["default-src 'none'", *hashes, "img-src data:", "base-uri 'none'", "form-action 'none'"])


def _digest(text: str) -> str:
    return base64.b64encode(sha256(text.encode()).digest()).decode()


def _embedded(data: dict[str, Any]) -> str:
    """JSON that can stand inside an HTML element: nothing in it ends the element or opens another."""
    written = json.dumps(data, separators=(",", ":"))
    return written.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
