"""The class report groups wrong answers by the change that would mend them."""

from autograder.model.report import ExerciseReport, Outcome, Report, WrongLines
from autograder.reports.class_changes import change_groups
from autograder.reports.class_pages import class_pages
from coursework.edits.places import OR_ELSE, TOGETHER_WITH

from .sample_class import LESSON, report
from .sample_course import MADE_AT


def student(*lines: tuple[int, int, str]) -> Report:
    """Return a report whose softmax has these lines."""
    found = [WrongLines(first=first, last=last, text="x", what=what) for first, last, what in lines]
    done = ExerciseReport(id="softmax", points=2, score=0, outcome=Outcome.FAILED, lines=found)
    return report([done])


def test_answers_with_one_kind_of_change_stand_together() -> None:
    """Whatever the line is; of changes that do alone the first counts, and of those together each."""
    reports = {
        "ada": student((3, 3, "another sign")),
        "ben": student((5, 5, f"another sign{OR_ELSE}line 3 would do as well"), (3, 3, "another call")),
        "eve": student((2, 2, f"another sign{TOGETHER_WITH}line 4"), (4, 4, f"another call{TOGETHER_WITH}line 2")),
        "ida": student((2, 3, "something is missing between these lines")),
        "joe": student(),
    }
    changes = {"ada": {"softmax": "-a + b\n+a - b"}, "ben": {"softmax": "-a\n+b"}}
    groups = [(each.kind, each.students, each.change) for each in change_groups(reports, changes)]
    assert groups == [
        ("another sign", ["ada", "ben"], "-a\n+b"),
        ("another sign, and another call", ["eve"], ""),
        ("something missing", ["ida"], ""),
    ]
    page = class_pages({LESSON: reports}, {}, sandboxed=True, made_at=MADE_AT, changes={LESSON: changes})
    assert "<code>-a\n+b</code>" in page[f"class-{LESSON}.html"]


def test_only_the_largest_groups_are_open() -> None:
    """A class of 300 has dozens of changes that one answer needs: they are folded, and the search opens them."""
    reports = {f"s{number}": student((3, 3, f"change {number // 2 if number < 4 else number}")) for number in range(12)}
    page = class_pages({LESSON: reports}, {}, sandboxed=True, made_at=MADE_AT, changes={})[f"class-{LESSON}.html"]
    shown, _, folded = page.partition("more, each in at most 1 answer</summary>")
    assert [f"change {number}" in shown for number in (0, 1)] == [True, True]
    assert folded.count("data-find=\"softmax change") == 4
