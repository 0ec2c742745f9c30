"""The line that a change mends is found in the real sandbox, and told without the change."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from autograder.grading.grader import GradedSubmission, Grader
from autograder.grading.lines import Blame, LineFinder, _titles
from autograder.lessons.loading import load_lesson
from autograder.model.report import BY_CHANGE, ExerciseReport, NamedMistake, Outcome, WrongLines
from autograder.search import search
from coursework.edits.cell import CodeEdit
from coursework.edits.places import combined

HandIn = Callable[..., Path]
LESSON = "03_attention"
SCORES = "def attention_scores(q, k):\n    d = q.size(-1)\n    s = q @ k.transpose({})\n    return s / d ** {}\n"

pytestmark = pytest.mark.sandbox


def told(graded: GradedSubmission, exercise: str) -> list[tuple[int, int, str]]:
    """Return the lines that are told of an exercise."""
    return [(each.first, each.last, each.what) for each in graded.report.exercise(exercise).lines or ()]


@pytest.mark.parametrize(
    ("answers", "exercise", "lines"),
    [
        ({"attention_scores": SCORES.format("1, 2", 0.5)}, "attention-scores", [(3, 3, "other dimensions")]),
        ({"attention_scores": SCORES.format("-2, -1", 2)}, "attention-scores", [(4, 4, "another number")]),
        (
            {"softmax": "def softmax(x, dim=-1):\n    e = torch.exp(x - x.amax(dim, True))\n    e /= e.sum(dim, True)\n    return e"},
            "softmax",
            [(3, 3, "without a change in place")],
        ),
        (
            {"causal_mask": "def causal_mask(size):\n    i = torch.arange(size)\n    return i[:, None] > i[None]"},
            "causal-mask",
            [(3, 3, "another comparison")],
        ),
    ],
)
def test_the_line_is_found(
    answers: dict[str, str],
    exercise: str,
    lines: list[tuple[int, int, str]],
    grader: Grader,
    hand_in: HandIn,
) -> None:
    """Its text is the student's, and the change is for instructors."""
    graded = grader.grade(LESSON, hand_in(LESSON, **answers), lines=True)
    assert told(graded, exercise) == lines
    cell = next(iter(answers.values())).split("\n")
    assert [each.text for each in graded.report.exercise(exercise).lines or ()] == [
        cell[first - 1].strip() for first, _, _ in lines
    ]
    assert graded.changes[exercise].startswith("-")
    assert graded.changes[exercise] not in graded.report.model_dump_json()


def test_two_lines_that_are_both_wrong_are_told_together(grader: Grader, hand_in: HandIn) -> None:
    """Neither alone is enough, and each says so."""
    wrong = "def softmax(x, dim=-1):\n    e = torch.exp(x - x.amax(0, True))\n    return e / e.sum(0, True)\n"
    graded = grader.grade(LESSON, hand_in(LESSON, softmax=wrong), lines=True)
    assert [(first, what.partition(",")[2]) for first, _, what in told(graded, "softmax")] == [
        (2, " together with line 3"),
        (3, " together with line 2"),
    ]


def test_a_change_names_what_no_known_mistake_explains(grader: Grader, hand_in: HandIn) -> None:
    """A known mistake keeps its name; an answer without one is named by the kind of change, and its place."""
    right = SCORES.format("-2, -1", 0.5)
    odd, known = right.replace("s / d ** 0.5", "(s / d ** 0.5).abs()"), right.replace(" / d ** 0.5", "")
    for answer, named in ((known, False), (odd, True)):
        done = grader.grade(LESSON, hand_in(LESSON, attention_scores=answer), lines=True).report
        [mistake] = done.exercise("attention-scores").misconceptions
        assert mistake.id.startswith(BY_CHANGE) == named, mistake


def test_one_mistake_in_several_places_keeps_its_one_name(grader: Grader, hand_in: HandIn) -> None:
    """All of its lines are told, and none of them is a mistake of its own."""
    wrong = """class SelfAttentionHead(nn.Module):
    def __init__(self, d_model, d_k=None):
        super().__init__()
        self.w_q = nn.Linear(d_model, d_k or d_model, bias=False)
        self.w_k = nn.Linear(d_model, d_k or d_model, bias=False)
        self.w_v = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x, mask=None):
        return scaled_dot_product_attention(self.w_q(x), self.w_k(x), self.w_v(x), mask)[0]
"""
    done = grader.grade(LESSON, hand_in(LESSON, self_attention_head=wrong), lines=True).report
    found = done.exercise("self-attention-head")
    assert [each.first for each in found.lines or ()] == [4, 5, 6]
    assert [each.title for each in found.misconceptions] == ["A linear layer has no bias"]


def test_changes_in_one_place_that_no_name_explains_are_no_fault(grader: Grader, hand_in: HandIn) -> None:
    """Two changes of one line are one place to tell."""
    wrong = "def split_heads(x, num_heads):\n    return cut(x, num_heads)\n"
    lesson = "04_multi_head_attention"
    done = grader.grade(lesson, hand_in(lesson, split_heads=wrong), lines=True).report.exercise("split-heads")
    assert done.outcome is Outcome.ERROR


def test_no_mistake_is_named_that_only_the_mended_half_makes(grader: Grader, hand_in: HandIn) -> None:
    """With the mask mended by −∞, a row of −1e9 would be a row of NaN; the answer itself has none."""
    wrong = "def scaled_dot_product_attention(q, k, v, mask=None):\n    s = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5\n"
    wrong += "    if mask is not None:\n        s = s.masked_fill(mask, -1e9)\n    w = torch.softmax(s, -1)\n    return w @ v, w\n"
    done = grader.grade(LESSON, hand_in(LESSON, scaled_dot_product_attention=wrong), lines=True).report
    found = done.exercise("scaled-dot-product-attention")
    assert len(found.lines or ()) == 2
    assert "mask-inverted" in {each.id for each in found.misconceptions}
    assert "empty-row-nan" not in {each.id for each in found.misconceptions}


@pytest.mark.parametrize(
    "body",
    [
        "x = (x - top(x)).exp()\n    return x / x.sum(dim, True)",
        pytest.param("while True:\n        pass", marks=pytest.mark.full("waits for the real limit", seconds=30)),
    ],
)
def test_a_change_is_no_title_where_the_end_says_more(grader: Grader, hand_in: HandIn, body: str) -> None:
    """Of a name that means nothing, and of a loop without end, that is what is wrong."""
    wrong = f"def softmax(x, dim=-1):\n    {body}\n"
    done = grader.grade(LESSON, hand_in(LESSON, softmax=wrong), lines=True).report.exercise("softmax")
    assert not [each.title for each in done.misconceptions]
    assert not any(each.is_gap for each in done.lines or ())


def test_what_is_no_python_has_no_line(grader: Grader, hand_in: HandIn) -> None:
    """Its message is the interpreter's."""
    wrong = "def causal_mask(size):\n    return torch.ones(size, size).tril(.bool()\n"
    done = grader.grade(LESSON, hand_in(LESSON, causal_mask=wrong), lines=True).report.exercise("causal-mask")
    assert (done.outcome, done.lines, done.misconceptions) == (Outcome.ERROR, [], [])


def test_a_name_by_the_change_says_all_of_its_places() -> None:
    """One of three lines alone would contradict the sentence that all three are wrong."""
    source = "a = f(x, dim=0)\nb = f(x, dim=0)\nc = f(x, dim=0)\n"
    edits = [CodeEdit(((n * 16 + 11, n * 16 + 12, "1"),), n + 1, n + 1, "another `dim`") for n in range(3)]
    lines = [WrongLines(first=n, last=n, text="", what="another `dim`") for n in (1, 2, 3)]
    [named] = _titles([combined(source, edits)], lines, source)
    assert named.title == "`f` gets the wrong dimension (line 1, line 2 and line 3)"


def test_parts_of_a_right_answer_in_the_students_own_form_are_tried(grader: Grader, hand_in: HandIn) -> None:
    """The model answer has nothing in common with this one but its result."""
    wrong = "from torch.nn.utils.rnn import pad_sequence\n\ndef pad_batch(sequences, pad_id=0):\n"
    wrong += "    rows = [torch.as_tensor(s, dtype=torch.long) for s in sequences]\n"
    wrong += "    return pad_sequence(rows, batch_first=True)\n"
    graded = grader.grade("01_embeddings", hand_in("01_embeddings", pad_batch=wrong), lines=True)
    assert told(graded, "pad-batch") == [(5, 5, "other arguments of `pad_sequence`")]


def test_several_mistakes_are_named_each_with_the_others_mended(grader: Grader, hand_in: HandIn) -> None:
    """One of these is known, and nothing names it while the other is there, which spoils more."""
    wrong = "def softmax(x, dim=-1):\n    e = torch.exp(x - x.amax(dim, True))\n    e = e + 1\n    return e / e.sum(-1, True)\n"
    done = grader.grade(LESSON, hand_in(LESSON, softmax=wrong), lines=True).report.exercise("softmax")
    assert [each.first for each in done.lines or ()] == [3, 4]
    assert [each.id for each in done.misconceptions] == ["change-without-the-statement", "sum-over-last"]


def test_of_several_mistakes_one_that_has_only_a_place_is_named_by_it(grader: Grader, hand_in: HandIn) -> None:
    """A smaller one would be the headline otherwise, as if it were all."""
    wrong = "def softmax(x, dim=0):\n    e = torch.exp(x / x.std(dim, keepdim=True))\n    return e / e.sum(dim, True)\n"
    done = grader.grade(LESSON, hand_in(LESSON, softmax=wrong), lines=True).report.exercise("softmax")
    assert [each.title for each in done.misconceptions] == ["The expression is wrong (line 2)", "`dim` does not default to −1"]


def test_half_of_a_mending_is_no_mistake_of_the_answer(
    grader: Grader, hand_in: HandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One known mistake does all that this answer does; a line mended alone would make another."""
    lesson = "05_encoder"
    wrong, edits = load_lesson(grader.course, lesson)["encoder-layer"].answer, []
    for right, turned, kind in (
        ("self.norm1(x + self.dropout(attended))", "self.dropout(self.norm1(x + attended))", "another expression"),
        ("self.norm2(x + self.dropout(transformed))", "self.dropout(self.norm2(x + transformed))", "another order"),
    ):
        wrong = wrong.replace(right, turned)
        start, line = len(wrong.partition(turned)[0].encode()), wrong.partition(turned)[0].count("\n") + 1
        edits.append(CodeEdit(((start, start + len(turned), right),), line, line, kind))
    monkeypatch.setattr(LineFinder, "find", lambda *_: ([combined(wrong, edits)], False))  # whatever time it has
    done = grader.grade(lesson, hand_in(lesson, encoder_layer=wrong), lines=True).report.exercise("encoder-layer")
    assert [each.first for each in done.lines or ()] == [each.first for each in edits]
    assert [each.id for each in done.misconceptions] == ["dropout-after-norm"]


@pytest.mark.parametrize(
    ("returned", "raised"), [("ss", "NameError"), ("s + len(open('weights.txt').read())", "FileNotFoundError")]
)
def test_of_a_name_or_a_file_that_is_not_there_only_that_is_told(
    grader: Grader, hand_in: HandIn, returned: str, raised: str
) -> None:
    """Other changes would do away with it, but what is in its line is right."""
    wrong = SCORES.format("-2, -1", 0.5).replace("return s", f"return {returned}")
    done = grader.grade(LESSON, hand_in(LESSON, attention_scores=wrong), lines=True).report.exercise("attention-scores")
    assert (done.lines, done.misconceptions) == ([], [])
    assert f"{raised} in line 4" in done.failures[0].message


def test_right_answers_and_scores_are_left_alone(grader: Grader, hand_in: HandIn) -> None:
    """The search adds lines and what they name, and a report without them is the same twice."""
    path = hand_in(LESSON, attention_scores=SCORES.format("1, 2", 0.5))
    before, after = grader.grade(LESSON, path).report, grader.grade(LESSON, path, lines=True).report
    bare = [each.as_graded for each in after.exercises]
    assert after.with_exercises(bare) == before
    assert all(not each.lines for each in after.exercises if each.outcome is Outcome.PASSED)


def test_a_submission_is_not_searched_twice(
    grader: Grader, hand_in: HandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lines that are there already are kept."""
    path = hand_in(LESSON, attention_scores=SCORES.format("1, 2", 0.5))
    report, _ = grader.find_lines(LESSON, path, grader.grade(LESSON, path).report)
    assert report.exercise("attention-scores").lines
    monkeypatch.setattr(search.Search, "find", lambda *_: pytest.fail("searched again"))
    assert grader.find_lines(LESSON, path, report) == (report, {})


def test_what_a_candidate_does_ends_only_the_search(grader: Grader, hand_in: HandIn) -> None:
    """Changes that end the process, or never end, cost neither the score nor an incident."""
    wrong = (
        "import os\ndef causal_mask(size):\n    n = 0\n    while n < size:\n        n += 1\n"
        "    if n != size:\n        os._exit(3)\n    return torch.ones(size, size).triu() > 0\n"
    )
    graded = grader.grade(LESSON, hand_in(LESSON, causal_mask=wrong), lines=True)
    assert told(graded, "causal-mask") == [(8, 8, "another call than `triu`")]
    assert graded.report.incidents == []


def test_the_document_has_the_lines(grader: Grader, hand_in: HandIn) -> None:
    """Each has the fields that the contract fixes, and no other."""
    graded = grader.grade(LESSON, hand_in(LESSON, attention_scores=SCORES.format("1, 2", 0.5)), lines=True)
    document = json.loads(graded.report.model_dump_json())
    exercises = {each["id"]: each for each in document["exercises"]}
    assert [each.keys() for each in exercises["attention-scores"]["lines"]] == [
        {"first", "last", "text", "what"}
    ]
    assert "lines" not in exercises["softmax"]


@pytest.mark.full("waits for the real limit", seconds=20)
def test_a_loop_without_end_is_mended(grader: Grader, hand_in: HandIn) -> None:
    """The answer itself ends each fork that it is asked in, and its changes are tried all the same."""
    path = hand_in(
        LESSON,
        causal_mask=(
            "def causal_mask(size):\n    mask = torch.zeros(size, size, dtype=torch.bool)\n    i = 0\n"
            "    while i < size:\n        mask[i, : i + 1] = True\n        i -= 1\n    return mask\n"
        ),
    )
    report = grader.grade(LESSON, path).report
    failed = report.exercise("causal-mask").model_copy(update={"lines": None})
    found, _ = grader.find_lines(LESSON, path, report.with_exercises([failed]))
    assert [(each.first, each.what) for each in found.exercise("causal-mask").lines or ()] == [(6, "another operator")]


def test_no_change_is_looked_for_in_a_dictionary_of_choices(grader: Grader, hand_in: HandIn) -> None:
    """One that makes it right would confirm a letter, or give one away; a list is told as a list."""
    lesson = "02_positional_encoding"
    cell = 'answers = {"step_of_two": "A", "encoding_or_embedding": "A", "without_either": "C", "two_halves": ["B"]}'
    done = grader.grade(lesson, hand_in(lesson, position_choices=cell), lines=True).report.exercise("position-choices")
    assert (done.lines, done.misconceptions) == ([], [])
    assert done.failures[1].message == "The answer should be a letter in quotes, not a list. Write the letter alone."


def test_what_grading_named_comes_before_what_the_search_adds() -> None:
    """So a page has the same headline whether or not there was time for a search."""
    named, added = (NamedMistake(id=each, title=each) for each in ("named", "added"))
    done = ExerciseReport(id="one", points=1.0, score=0.0, outcome=Outcome.FAILED, misconceptions=[named])
    both = Blame(mistakes=[added, named]).added_to(done).misconceptions
    assert [each.id for each in both] == ["named", "added"]
