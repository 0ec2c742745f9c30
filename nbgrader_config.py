"""The settings of nbgrader's own commands in this course.

The autograder is named here, not imported: commands that do not grade, such as
generate_assignment, work without it.
"""

from pathlib import Path

c = get_config()  # noqa: F821 - nbgrader gives this to its configuration

ROOT = Path(__file__).resolve().parent

c.CourseDirectory.course_id = "transformer"
c.CourseDirectory.root = str(ROOT)
c.CourseDirectory.db_url = f"sqlite:///{ROOT / 'gradebook.db'}"

# The autograder reads a submission, aligns it with the released notebook and grades it.
# nbgrader's own Execute is in neither list: a student's code never runs in nbgrader's kernel.
c.Autograde.exporter_class = "autograder.nbgrader_plugin.SubmissionExporter"
c.Autograde.sanitize_preprocessors = [
    "autograder.nbgrader_plugin.GradeSubmission",
    "nbgrader.preprocessors.CheckCellMetadata",
]
c.Autograde.autograde_preprocessors = [
    "autograder.nbgrader_plugin.RecordAttempt",
    "nbgrader.preprocessors.AssignLatePenalties",
    "nbgrader.preprocessors.CheckCellMetadata",
]

# `nbgrader zip_collect` knows the downloads of Canvas and Moodle.
c.ZipCollectApp.collector_plugin = "autograder.download_collector.DownloadCollector"

# `nbgrader validate` runs a notebook on its owner's machine; there, a cell that loads SmolLM2 may take longer
# than the 30 seconds that nbgrader gives it.
c.Execute.timeout = 300

# Feedback pages are our own: the score, what needs work and why, and what is still pending.
c.GenerateFeedback.exporter_class = "autograder.reports.feedback_exporter.FeedbackExporter"
c.GenerateFeedback.preprocessors = []

# The formgrader shows a student's markdown without scripts, and its formulas without a network.
c.HTMLExporter.filters = {"markdown2html": "autograder.reports.mathml.typeset_markdown"}
# It also shows short feedback under each test cell, and the mark scheme under each written answer.
c.HTMLExporter.preprocessors = ["autograder.reports.formgrader.FormgraderPage"]
