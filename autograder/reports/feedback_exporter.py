"""What nbgrader's generate_feedback makes a page with: our headings, and the gradebook's scores.

nbgrader_config.py names both classes at nbgrader's extension points. nbgrader's own page shows an
answer that is still to be graded by hand as 0 points.
"""

from pathlib import Path
from typing import Any

from nbconvert.exporters import HTMLExporter
from nbformat import NotebookNode
from nbgrader.preprocessors import GetGrades
from traitlets.config import Config

from autograder.model.text import clean_name
from autograder.reports.graded_notebook import show_feedback
from autograder.reports.words import exercise_total, points, total
from autograder.storage.autograded import attached_attempt
from autograder.storage.gradebook import NO_RESPONSE
from autograder.submissions.nbgrader_cells import exercise_of, grade_id, is_graded

Resources = dict[str, Any]  # nbconvert's, with nbgrader's entries in it
TEMPLATES = Path(__file__).with_name("templates")


class FeedbackExporter(HTMLExporter):  # type: ignore[misc] # nbconvert has no type annotations
    """nbgrader's feedback page with headings of our own."""

    def __init__(self, config: Any = None, **kw: Any) -> None:
        """Look for templates here, too."""
        config = config or Config()
        theirs = config.HTMLExporter.get("extra_template_paths", [])
        config.FeedbackExporter.extra_template_paths = [str(TEMPLATES), *theirs]
        config.FeedbackExporter.template_file = "feedback_page.html.j2"
        super().__init__(config=config, **kw)
        _leave_out_foreign(self.parent)
        self.register_filter("points", points)
        self.environment.globals["no_response"] = NO_RESPONSE


class GetScores(GetGrades):  # type: ignore[misc] # nbgrader has no type annotations
    """Puts the gradebook's scores and comments into a page, and what they come to in words.

    Scores that were given by hand take the place of those of the attempt. Of a submission that could
    not be graded, only the summary is shown: the other cells are not the student's.
    """

    def preprocess(self, nb: NotebookNode, resources: Resources) -> tuple[NotebookNode, Resources]:
        """Return the page with its scores, and the total in `resources`."""
        super().preprocess(nb, resources)
        place, attempt = resources["nbgrader"], attached_attempt(nb)
        scores = {about.exercise: about.score for about in _graded(nb)}
        pending = sum(about.points for about in _graded(nb) if about.score is None)
        place["total"] = total(place["score"], place["max_score"], pending)
        if attempt is None:  # nbgrader graded this without us
            return nb, resources
        report = attempt.report.with_scores(scores)
        show_feedback(nb, report, sandboxed=attempt.sandboxed)
        nb.cells[0].metadata["transient"] = {"remove_source": True}  # "# Summary" says nothing
        if not report.is_graded:
            place["total"], nb.cells = "nothing was graded", nb.cells[:1]
        return nb, resources

    def preprocess_cell(
        self, cell: NotebookNode, resources: Resources, cell_index: int
    ) -> tuple[NotebookNode, Resources]:
        """Add the exercise's name to nbgrader's score and comment."""
        if name := grade_id(cell):
            cell.metadata.nbgrader.exercise = exercise_of(name)
        return super().preprocess_cell(cell, resources, cell_index)  # type: ignore[no-any-return]

    def _get_score(self, cell: NotebookNode, _: Resources) -> None:
        """Add the score and the points of a cell; None is a score that is still to be given."""
        about = cell.metadata.nbgrader
        grade = self.gradebook.find_grade(
            about.grade_id, self.notebook_id, self.assignment_id, self.student_id
        )
        given = grade.auto_score is not None or grade.manual_score is not None
        about.score, about.points = grade.score if given else None, grade.max_score
        about.total = exercise_total(about.score, about.points)


def _graded(nb: NotebookNode) -> list[NotebookNode]:
    """Return nbgrader's metadata of the cells that have a score."""
    return [cell.metadata.nbgrader for cell in nb.cells if is_graded(cell)]


def _leave_out_foreign(converter: Any) -> None:
    """Keep nbgrader's GenerateFeedback from folders that hold a link or anything but plain files.

    The autograder never puts one there, and nbgrader would copy what it leads to onto the student's page.
    """
    for folder in list(getattr(converter, "assignments", ())):
        if any(_is_foreign(path) for path in (Path(folder), *Path(folder).rglob("*"))):
            converter.log.error("left out: %s holds a link; autograde it again", clean_name(folder))
            del converter.assignments[folder]


def _is_foreign(path: Path) -> bool:
    plain = path.is_dir() or (path.is_file() and path.stat().st_nlink == 1)
    return path.is_symlink() or not plain
