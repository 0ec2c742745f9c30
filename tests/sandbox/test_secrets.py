"""Nothing that decides a score is where a submission could find it."""

from collections.abc import Callable
from pathlib import Path

import pytest
from keys import KEY

from autograder.grading.grader import Grader
from autograder.judge.oracle import Oracle
from autograder.lessons.loading import load_lesson
from autograder.model.course import Course

LESSON, EXERCISE = "03_attention", "attention-cost"  # which excludes nothing, so that anything may run
NEEDLES = "@NEEDLES@"

SEARCH = '''
import gc
import os
import re
import sys
from pathlib import Path

found = []
own = 'a word of ' + 'its own'


def matcher():
    return re.compile("|".join(re.escape(text[::-1]) for text in @NEEDLES@)).findall


def look(thing, where, matches=matcher()):
    if isinstance(thing, int) and not isinstance(thing, bool):
        thing = str(thing)
    elif isinstance(thing, bytes):
        thing = thing.decode(errors="replace")
    if isinstance(thing, str) and len(found) < 100:
        found.extend(f"{where}: {match}" for match in matches(thing))


def text(value):
    try:
        return repr(value)
    except Exception:  # a module whose constructor is still running
        return ""


def search():
    gc.unfreeze()
    for thing in gc.get_objects():
        if isinstance(thing, dict):
            thing = [*thing.keys(), *thing.values()]
        if isinstance(thing, (list, tuple, set, frozenset)):
            for value in thing:
                look(value, "memory")
    frame = getattr(sys, "_get" + "frame")()
    while frame is not None:
        for value in list(getattr(frame, "f_" + "locals").values()):
            look(value if isinstance(value, (int, str, bytes)) else text(value), "frame")
        frame = getattr(frame, "f_" + "back")
    for number in range(64):
        try:
            look(os.readlink(f"/proc/self/fd/{number}"), "descriptor")
        except OSError:
            pass
    for folder in ("/proc", "/sandbox/autograder", "/sandbox/coursework", "/tmp", "/home", "/srv"):
        for path in Path(folder).rglob("*"):
            look(str(path), "path")
            if path.is_file():
                look(path.read_bytes(), str(path))


def attention_cost(*sizes, **named):
    if "searched" not in globals():
        search()
        globals()["searched"] = True
    raise KeyError if found else ValueError
'''

pytestmark = pytest.mark.sandbox


def needles(course: Course) -> list[str]:
    """Return what must not be found: the key, model answers, and the titles of checks; those of mistakes are public."""
    exercise = load_lesson(course, LESSON)[EXERCISE]
    lines = [line.strip() for line in exercise.answer.splitlines() if "pairs" in line]
    assert lines
    public = (course.root / "coursework/examples" / f"{LESSON}.json").read_text()
    titles = [check.title for check in exercise.checks if check.title not in public]
    modules = ["autograder.judge", "lessons.attention", "autograder.grading.grader", "gradebook.db", "course.results"]
    lesson = load_lesson(course, LESSON)
    upstream = lesson.upstream(exercise)
    right = "\n".join(Oracle(lesson, KEY).stand_ins(exercise).values())
    handed_in = "\n".join(other.answer for other in upstream)  # by the notebook of this test
    own = {line.strip() for line in right.splitlines() if line.strip() not in handed_in}
    own = {line for line in own if len(line) > 20 and not line.startswith(")")}  # the end of a signature tells nothing
    assert len(own) > 10
    lines += own
    return [KEY.decode(), *lines, *titles, *modules]


@pytest.mark.parametrize("hidden", [True, False])
def test_a_search_of_the_process_finds_nothing(
    hidden: bool, course: Course, hand_in: Callable[..., Path]
) -> None:
    """Frames, objects, modules, descriptors and files hold no key, check, title or answer.

    The same search does find a string that the student's own code contains. A message tells no more
    of an exception than its type, so that says whether something was found.
    """
    sought = needles(course) if hidden else ["a word of its own", "nothing of the kind"]
    assert len(sought) > (20 if hidden else 1)
    backwards = [text[::-1] for text in sought]
    cell = SEARCH.replace(NEEDLES, repr(backwards))
    with Grader(course) as grader:
        path = hand_in(LESSON, attention_cost=cell)
        report = grader.grade(LESSON, path).report
    messages = {check.message for check in report.exercise(EXERCISE).checks}
    kind = "a ValueError" if hidden else "a KeyError"
    assert all(kind in message for message in messages), messages
    if hidden:
        assert "searched-memory" in {incident.kind for incident in report.incidents}


def test_the_language_models_own_parts_are_no_answers(course: Course, hand_in: Callable[..., Path]) -> None:
    """What takes the place of an exercise in SmolLM2 cannot be taken from there."""
    taken = "from coursework.smollm import rotate_pairs as rotary"
    with Grader(course) as grader:
        report = grader.grade("02_positional_encoding", hand_in("02_positional_encoding", rotary=taken)).report
    assert not any(check.passed for check in report.exercise("rotary").checks)
