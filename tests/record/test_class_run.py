"""A class run marks everything once, loses nothing, and goes on where it stopped."""

from autograder.record.class_run import grade

from .tiny_course import LESSON, RIGHT, hand_in, make_fake



def test_all(course, grades):
    hand_in(course, "alice", **RIGHT)
    hand_in(course, "bob", double="# half")
    (course.submitted / "carl" / LESSON).mkdir(parents=True)
    lines: list[str] = []
    attempts = grade(course, LESSON, workers=1, progress=lines.append, make=make_fake)
    print(lines)
    print(grades("alice"), grades("bob"), grades("carl"))
    print([a.report.score for a in attempts])
    assert 0
