"""Nothing that decides a mark is where a submission could find it."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from autograder.course import Course
from autograder.lessons import load_lesson
from autograder.marker import Marker, workbench

LESSON, EXERCISE = "03_attention", "scaled-dot-product-attention"
SEED = 9_182_736_455_463_728
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


def search():
    gc.unfreeze()
    for thing in gc.get_objects():
        if isinstance(thing, dict):
            thing = [*thing.keys(), *thing.values()]
        if isinstance(thing, (list, tuple, set, frozenset)):
            for value in thing:
                look(value, "memory")
    frame = sys._getframe()
    while frame is not None:
        for value in list(frame.f_locals.values()):
            look(value if isinstance(value, (int, str, bytes)) else repr(value), "frame")
        frame = frame.f_back
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


def scaled_dot_product_attention(q, k, v, mask=None):
    if "found" not in globals().get("said", ""):
        search()
        globals()["said"] = f"found {sorted(set(found))[:3]}"
    raise ValueError(said)
'''

pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed"),
]


def needles(course: Course) -> list[str]:
    """What must not be found: seeds, the checks' own names, titles, hints, and model answers."""
    checks = load_lesson(LESSON)[EXERCISE]
    answers = workbench(course, LESSON).answers
    lines = [line.strip() for line in answers[EXERCISE].splitlines() if "# (" in line]
    titles = [case.title for case in checks.cases] + [m.title for m in checks.misconceptions]
    modules = ["autograder.judge", "autograder.lessons", "autograder.marker", "gradebook.db"]
    return [str(SEED), str(SEED + 1), *lines, *titles, *modules]


@pytest.mark.parametrize("hidden", [True, False])
def test_a_search_of_the_process_finds_nothing(
    hidden: bool, course: Course, hand_in: Callable[..., Path]
) -> None:
    """Frames, objects, modules, descriptors and files hold no seed, check, title or answer.

    The same search finds what is there: a word of the student's own.
    """
    sought = needles(course) if hidden else ["a word of its own", "nothing of the kind"]
    assert len(sought) > (20 if hidden else 1)
    backwards = [text[::-1] for text in sought]
    cell = SEARCH.replace(NEEDLES, repr(backwards))
    with Marker(course, seed=SEED) as marker:
        path = hand_in(LESSON, scaled_dot_product_attention=cell)
        report = marker.mark(LESSON, path).report
    messages = {check.message for check in report.exercise(EXERCISE).checks}
    assert all("found [" in message for message in messages), messages
    assert any("found []" not in message for message in messages) is not hidden, messages
    if hidden:
        assert "searched-memory" in {incident.kind for incident in report.incidents}
