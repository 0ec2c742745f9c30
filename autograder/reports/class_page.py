"""The class report: one page without a network, for the next lecture and for the scores."""

import base64
import hashlib
from collections.abc import Mapping
from datetime import datetime

from markupsafe import Markup

from autograder.model.report import Outcome, Report
from autograder.reports.class_figures import figures
from autograder.reports.templating import render
from autograder.reports.words import NO_SANDBOX, STATES, STRETCH, WORDING, place


def class_page(
    lesson_reports: Mapping[str, Mapping[str, Report]], *, sandboxed: bool, made_at: datetime
) -> str:
    """Return reports/class.html: for each lesson the figures, exercises, mistakes and scores.

    `lesson_reports` maps lesson to student to report; a lesson without reports is left out. The
    page is one file. Its policy allows no loading and no script but its own, which only sorts and
    filters tables that can be read without it. Everything that comes from a submission is escaped.
    """
    script = render("class_script.j2")
    return render(
        "class_page.html.j2",
        lessons=[figures(name, each) for name, each in sorted(lesson_reports.items()) if each],
        outcomes=list(Outcome),
        wordings=WORDING,
        states=STATES,
        place=place,
        stretch=STRETCH,
        no_sandbox="" if sandboxed else NO_SANDBOX,
        made_at=made_at,
        script=Markup(script),  # noqa: S704 - our own file, nothing is inserted into it
        script_hash=_policy_hash(script),
    )


def _policy_hash(script: str) -> str:
    """Return the script's digest as a Content-Security-Policy names it."""
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"
