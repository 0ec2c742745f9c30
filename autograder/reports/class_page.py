"""The class report: one page that needs no network, for the next lecture and for the marks."""

import base64
import hashlib
from collections.abc import Mapping
from datetime import datetime

from markupsafe import Markup

from autograder.reports.class_figures import figures
from autograder.reports.templating import environment
from autograder.reports.words import NO_SANDBOX, WORDING
from autograder.results import Outcome, Report


def class_page(
    lesson_reports: Mapping[str, Mapping[str, Report]], *, sandboxed: bool, made_at: datetime
) -> str:
    """Return reports/class.html: per lesson the figures, difficulties, mistakes and marks.

    `lesson_reports` maps lesson to student to report; a lesson without any is left out. The page
    is one file: its policy lets nothing load and no script run but its own, which only sorts and
    filters tables that read well without it. Everything a submission brought is escaped.
    """
    script = environment().get_template("class_script.j2").render()
    return (
        environment()
        .get_template("class_page.html.j2")
        .render(
            lessons=[figures(name, each) for name, each in sorted(lesson_reports.items()) if each],
            outcomes=list(Outcome),
            wordings=WORDING,
            no_sandbox="" if sandboxed else NO_SANDBOX,
            made_at=made_at,
            script=Markup(script),  # noqa: S704 - our own file, nothing is put into it
            script_hash=_policy_hash(script),
        )
    )


def _policy_hash(script: str) -> str:
    """Return the script's digest as a Content-Security-Policy names it."""
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"
