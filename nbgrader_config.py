"""What nbgrader's own commands use in this course.

The autograder is named here, not imported: commands that do not mark, such as
generate_assignment, work without it.
"""

from pathlib import Path

c = get_config()  # noqa: F821 - nbgrader gives this to its configuration

ROOT = Path(__file__).resolve().parent

c.CourseDirectory.course_id = "transformer"
c.CourseDirectory.root = str(ROOT)
c.CourseDirectory.db_url = f"sqlite:///{ROOT / 'gradebook.db'}"

# A submission is marked by the autograder: read by it, laid over the released notebook, judged.
# nbgrader's own Execute is in neither list: a student's code never runs in nbgrader's kernel.
c.Autograde.exporter_class = "autograder.nbgrader_plugin.SubmissionExporter"
c.Autograde.sanitize_preprocessors = [
    "autograder.nbgrader_plugin.Mark",
    "nbgrader.preprocessors.CheckCellMetadata",
]
c.Autograde.autograde_preprocessors = [
    "autograder.nbgrader_plugin.Record",
    "nbgrader.preprocessors.AssignLatePenalties",
    "nbgrader.preprocessors.CheckCellMetadata",
]

# What a student wrote in markdown is shown without scripts: in feedback and in the formgrader.
c.HTMLExporter.filters = {"markdown2html": "autograder.record.safe_html.markdown2html"}
