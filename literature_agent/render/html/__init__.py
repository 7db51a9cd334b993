"""The report: one HTML file that needs nothing else, neither network nor server."""

from literature_agent.render.html._report import render_answer_html, render_notebook_html

__all__ = ["render_answer_html", "render_notebook_html"]
