"""Which state of a lesson and of the grader gave a score."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

from autograder.model.course import Course
from autograder.model.errors import CourseError
from autograder.storage.course_key import lesson_key

PACKAGE = Path(__file__).resolve().parent.parent
# The folders whose code can change a score. The others only build, store or show.
FOLDERS = ("model", "keeper", "probe", "sandbox", "judge", "lessons", "submissions", "grading")
SUFFIXES = (".py", ".yaml")
# The modules of this package that only decide which submissions are graded, and when.
ORGANISING = frozenset(
    f"{name}.py"
    for name in (
        "pages",
        "pool",
        "cluster",
        "cluster_access",
        "cluster_task",
        "cluster_worker",
        "cluster_child",
        "class_run",
        "course_run",
        "staging",
        "version",
        "exercise_version",
        "regrade",
    )
)
# What lessons have in scope, and what checks use of the coursework: files, and folders with their code.
COURSEWORK = (
    *("scope.py", "small_bert.py", "stand_ins.py", "stand_ins_models.py", "heat_map.py"),
    *("exclusions.py", "source_names.py", "source_rules.py", "data/allowed.toml"),
    *("engine", "instant"),
)


def lesson_version(course: Course, lesson: str) -> str:
    """Return a digest of the lesson's text, its release, the key and the code that can change a score.

    The checks of other lessons cannot. A submission that was graded under another version is graded
    again. Raises CourseError if the lesson has no text or was never released.
    """
    if not course.text(lesson).is_file():
        raise CourseError(f"no lesson '{lesson}': expected its text in {course.text(lesson)}")
    digest = hashlib.sha256(course.text(lesson).read_bytes())
    digest.update(course.release_notebook(lesson).read_bytes())
    digest.update(lesson_key(course, lesson))
    for path in scoring_files(PACKAGE, lesson):
        digest.update(path.relative_to(PACKAGE.parent).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def scoring_files(package: Path, lesson: str = "") -> Iterator[Path]:
    """Yield the files that can change a score, in a fixed order: the grader's, and the coursework's.

    Of the lessons' checks, these are all, or those of one `lesson`.
    """
    lessons, own = package / "lessons", package / "lessons" / lesson.partition("_")[2]
    for folder in FOLDERS:
        for path in sorted((package / folder).rglob("*")):
            organises = folder == "grading" and path.name in ORGANISING
            other = lesson and path.parent.parent == lessons and path.parent != own
            if path.suffix in SUFFIXES and not organises and not other:
                yield path
    for used in (package.parent / "coursework" / name for name in COURSEWORK):
        if used.is_file():
            yield used
        yield from (path for path in sorted(used.rglob("*")) if path.suffix in SUFFIXES)
