"""Writes the lessons as a folder of pages: no network, no answers, and the notebooks to fetch beside them."""

import json
from pathlib import Path
from typing import Final

from autograder.guard import refuse_secrets
from autograder.lecture.pages import solved_lesson
from autograder.model.course import Course
from autograder.model.errors import CourseError
from autograder.model.files import files_in, write
from autograder.model.nbgrader_config import outside_totals
from autograder.reports.templating import render
from autograder.site.page import LessonPage
from autograder.submissions.released import released_notebook

HERE: Final = Path(__file__).parent
SECTIONS: Final = "sections.js"  # what every page of a site loads


def write_site(course: Course, folder: Path | None = None) -> Path:
    """Write all lessons as pages to a folder, the course's `site` by default; return the first page.

    Raises BundleError where a page gives an answer or a check away, and CourseError where the folder has a
    first page of something else: then nothing is written.
    """
    place = folder or course.site
    first = place / "index.html"
    if first.is_file() and SECTIONS.encode() not in first.read_bytes():
        raise CourseError(
            f"{first} is not a page of this course: move it, or name another folder with --folder"
        )
    contents = site(course)
    refuse_secrets(course, contents)
    for name, content in contents.items():
        write(place / name, content)
    return first


def site(course: Course) -> dict[str, bytes]:
    """Return the files of the site by name. Raises CourseError where a lesson was never built."""
    lessons = [_lesson(course, name) for name in course.lessons()]
    style = render("student_style.j2") + (HERE / "site.css").read_text(encoding="utf-8")
    contents = {
        "index.html": render("site_index.html.j2", root="", lessons=lessons, extra=outside_totals(course)),
        "style.css": style,
        "site.js": (HERE / "site.js").read_text(encoding="utf-8"),
        SECTIONS: _sections(lessons),
    }
    for number, lesson in enumerate(lessons):
        before, after = lessons[:number][-1:], lessons[number + 1 :][:1]
        page = render(
            "site_lesson.html.j2", root="../", lesson=lesson, lessons=lessons, before=before, after=after
        )
        contents[f"{lesson.name}/index.html"] = page
    files = {name: text.encode() for name, text in contents.items()}
    for lesson in lessons:
        for path in files_in(course.release_notebook(lesson.name).parent):
            files[path.relative_to(course.release).as_posix()] = path.read_bytes()
    return files


def _lesson(course: Course, name: str) -> LessonPage:
    _text, solved, _folder = solved_lesson(course, name)
    content = course.release_notebook(name).read_bytes()
    return LessonPage(name, released_notebook(course, name), solved, content)


def _sections(lessons: list[LessonPage]) -> str:
    """Return what the search looks through as a script, which a page may load from disk; JSON it may not."""
    found = [
        {
            "lesson": lesson.title,
            "title": section.title,
            "page": f"{lesson.name}/index.html#{section.id}",
            "text": section.text.strip(),
        }
        for lesson in lessons
        for section in lesson.sections
    ]
    return f"const SECTIONS = {json.dumps(found, ensure_ascii=False, indent=0)};\n"
