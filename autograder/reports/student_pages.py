"""The three pages of a student: feedback on a lesson, the whole graded notebook, and the index.

Each is one file that opens from disk. It holds no script, and its policy allows none; no style but the
page's own, whatever a submission holds; and nothing loaded but the lesson's own pictures.
"""

import base64
import hashlib
from functools import cache

from markupsafe import Markup

from autograder.reports.templating import render

INDEX, NOTEBOOK = "index.html", "notebook.html"


@cache
def _style() -> Markup:
    """Return the style sheet of all three pages."""
    return Markup(render("student_style.j2"))  # noqa: S704 - our own file, nothing is inserted into it


@cache
def _policy() -> str:
    """Return the Content-Security-Policy, which names the style sheet by its digest."""
    digest = base64.b64encode(hashlib.sha256(_style().encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src 'self' file:; base-uri 'none'; "
        "form-action 'none'"
    )


def render_page(template: str, **values: object) -> str:
    """Return a page made from a template that extends `student_page.html.j2`."""
    return render(template, style=_style(), policy=_policy(), **values)
