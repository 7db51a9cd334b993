"""What people see: prose with numbers, bibliographies, whole answers.

Everything bibliographic is printed from records, never from prose, and nothing that comes from a paper or a model can
control a terminal or become markup.
"""

from __future__ import annotations

from literature_agent.render._bibliography import bibliography_entry, bibliography_entry_markdown
from literature_agent.render._full_text import outline_document, render_full_text, why_no_text
from literature_agent.render._json import answer_document
from literature_agent.render._layout import render_answer_markdown, render_answer_text, wrapped
from literature_agent.render._numbering import UNKNOWN_REFERENCE
from literature_agent.render._plain import one_line, paper_line, spreadsheet_cell
from literature_agent.render._prose import RenderedText, render_text
from literature_agent.render._results import render_fetch_text, render_search_text, shown_of
from literature_agent.render.html import render_answer_html, render_notebook_html
from literature_agent.render.search_log import flow_svg, search_log_csv, search_log_json, search_log_markdown

__all__ = [
    "UNKNOWN_REFERENCE",
    "RenderedText",
    "answer_document",
    "bibliography_entry",
    "bibliography_entry_markdown",
    "flow_svg",
    "one_line",
    "paper_line",
    "outline_document",
    "render_answer_html",
    "render_answer_markdown",
    "render_answer_text",
    "render_fetch_text",
    "render_full_text",
    "render_notebook_html",
    "render_search_text",
    "render_text",
    "shown_of",
    "search_log_csv",
    "search_log_json",
    "search_log_markdown",
    "spreadsheet_cell",
    "why_no_text",
    "wrapped",
]
