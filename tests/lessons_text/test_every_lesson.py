"""What holds for each of the nine lessons, as its author writes it."""

import dis
import json
import operator
import re
from types import CodeType

import pytest
import torch

from autograder.authoring.minutes import check_minutes
from autograder.model.lesson_text import CellKind

from .lesson_run import ROOT, LessonRun, StaleEditError, shown
from .lessons import LESSONS

# Exercises and points, as the contract fixes them.
POINTS = {
    "01_embeddings": {
        "tokenise": 2, "build-vocabulary": 3, "encode": 2, "pad-batch": 2, "one-hot-embed": 3,
        "token-embedding": 3, "nearest": 3, "recurrence": 2,
    },
    "02_positional_encoding": {
        "sinusoidal-encoding": 5, "positional-encoding": 5, "shift-matrix": 4,
        "learned-position": 4, "position-choices": 2,
    },
    "03_attention": {
        "softmax": 2, "attention-scores": 3, "causal-mask": 2, "padding-mask": 2,
        "scaled-dot-product-attention": 5, "self-attention-head": 4, "attention-shapes": 2,
    },
    "04_multi_head_attention": {
        "split-heads": 2, "merge-heads": 2, "multi-head-attention": 8, "load-from-torch": 4,
        "parameter-count": 2, "head-shapes": 2,
    },
    "05_encoder": {
        "layer-norm": 3, "feed-forward": 3, "encoder-layer": 6, "encoder": 5, "dense-layers": 1,
        "skip-connections": 2,
    },
    "06_decoder": {
        "shift-right": 2, "target-mask": 3, "decoder-layer": 6, "decoder": 4,
        "causal-decoder-layer": 4, "decoder-choices": 1,
    },
    "07_transformer": {
        "transformer": 5, "greedy-decode": 3, "label-smoothing-loss": 2, "noam-rate": 1,
        "train-step": 3, "language-windows": 2, "language-model": 2, "shape-trace": 2,
    },
    "08_attention_visualisation": {
        "attention-maps": 4, "plot-attention": 3, "sentence-pair-attention": 3,
        "previous-token-score": 1, "attention-entropy": 2, "attention-rollout": 3, "best-span": 2,
        "reading-attention": 2,
    },
    "09_modern_llm": {
        "rms-norm": 2, "grouped-query-attention": 5, "llama-layer": 3, "llama": 3, "load-llama": 2,
        "generate": 3, "model-numbers": 2,
    },
}  # fmt: skip
# Optional exercises without points: a lesson may have its own, and no other.
STRETCH = {
    "01_embeddings": "bpe-merges", "02_positional_encoding": "rotary", "03_attention": "attention-cost",
    "04_multi_head_attention": "load-from-bert", "05_encoder": "gated-feed-forward",
    "06_decoder": "decode-step", "07_transformer": "sample-next",
    "08_attention_visualisation": "silence-head", "09_modern_llm": "quantise",
}  # fmt: skip
WRITTEN = {"recurrence", "dense-layers", "skip-connections", "reading-attention"}
ANSWERS = {
    "position-choices", "attention-shapes", "head-shapes", "decoder-choices", "shape-trace", "model-numbers",
}  # fmt: skip
EXTRA = {"09_modern_llm"}  # in no total
CODED = [(name, exercise) for name, lesson in LESSONS.items() for exercise in lesson.coded]
FIGURE = re.compile(r"!\[([^\]]*)\]\((images/[^)]*)\)")
LONG = 25  # a shorter line (`return weights`) may well stand in two places
# Lines of an answer that students see elsewhere, each with the reason why it gives nothing away.
JUSTIFIED = {
    "03_attention": {
        "scores = attention_scores(q, k)": "how the test of attention-scores calls it; the next exercise may too",
    },
    "07_transformer": {
        "memory = model.encode(src)": "a demo between the exercises calls what a student has just written",
        "nn.init.xavier_uniform_(parameter)": "a demo long after the exercise; its hint names the function",
    },
}


@pytest.fixture(params=list(POINTS))
def lesson(request: pytest.FixtureRequest) -> LessonRun:
    """Each lesson in turn."""
    return LESSONS[request.param]


def test_these_are_all_lessons() -> None:
    """There is no lesson text beside the nine."""
    assert sorted(path.stem for path in (ROOT / "source").glob("*.py")) == list(POINTS)


def test_an_edit_that_finds_nothing_is_no_bite() -> None:
    """A table of mistakes that has fallen behind the answers says so."""
    with pytest.raises(StaleEditError, match="no longer contains"):
        LESSONS["03_attention"].run({"softmax": ("no such line", "")}, until="softmax")


def test_exercises_come_in_the_contracts_order_with_its_points(lesson: LessonRun) -> None:
    """The text declares what the contract fixes, and which answers are graded by hand."""
    found = {header.id: header.points for header in lesson.text.exercises}
    assert found.pop(STRETCH[lesson.name], 0) == 0
    assert found == POINTS[lesson.name]
    assert list(found) == list(POINTS[lesson.name])
    assert lesson.text.points == 20
    assert lesson.text.extra == (lesson.name in EXTRA)
    assert {header.id for header in lesson.text.exercises if header.written} == WRITTEN & set(found)
    assert sorted(header.id for header in lesson.text.exercises if not header.points) in (
        [], [STRETCH[lesson.name]],
    )  # fmt: skip


def test_a_lesson_says_how_long_it_takes(lesson: LessonRun) -> None:
    """Its claim is close to the sum of its words, demos and exercises; each exercise states its minutes."""
    assert "**Time** " in lesson.path.read_text(encoding="utf-8")
    check_minutes(lesson.text)
    assert all(lesson.text.minutes(header.id) for header in lesson.text.exercises)


def test_every_figure_exists_and_can_be_read_aloud(lesson: LessonRun) -> None:
    """Each picture is there, with alt text that says what it shows."""
    text = lesson.path.read_text(encoding="utf-8")
    found = FIGURE.findall(text)
    assert len(found) == text.count("](images/") > 0
    for alt, path in found:
        assert len(alt) > 80, path
        assert (ROOT / path).is_file(), path


def test_answers_pass_their_own_visible_tests(lesson: LessonRun) -> None:
    """The whole lesson runs, with nothing next door."""
    assert set(lesson.run()) >= set(lesson.extras)


@pytest.mark.parametrize(("of", "name"), [pair for pair in CODED if pair[1] not in ANSWERS])
def test_skeletons_run_and_give_nothing_away(of: str, name: str) -> None:
    """Without its solution a cell still defines its name, and its test finds it unanswered."""
    assert "SOLUTION" not in LESSONS[of].text.skeleton(name)
    with pytest.raises(NotImplementedError):
        LESSONS[of].run_skeleton(name)


@pytest.mark.parametrize(("of", "name"), [pair for pair in CODED if pair[1] in ANSWERS])
def test_dictionaries_of_answers_start_empty(of: str, name: str) -> None:
    """Students get every key, and no value; the visible test says what is still to be answered, or missing."""
    skeleton = shown(LESSONS[of].cell(CellKind.SOLUTION, name))
    scope = LESSONS[of].scope_before(name)
    exec(skeleton, scope)
    keys = set(scope["answers"])
    assert set(scope["answers"].values()) == {None}
    test = LESSONS[of].text.test(name)
    with pytest.raises(AssertionError, match=f"to be answered.*{min(keys)}"):
        exec(test, scope)
    with pytest.raises(AssertionError, match="missing from answers") as told:
        exec(test, {**scope, "answers": {}})
    assert all(f"'{key}'" in str(told.value) for key in keys)
    assert set(LESSONS[of].run(until=name)["answers"]) == keys


def test_every_written_exercise_has_a_mark_scheme(lesson: LessonRun) -> None:
    """An assistant can mark from it: it names points, and follows a model answer."""
    for name in WRITTEN & set(POINTS[lesson.name]):
        cell = lesson.cell(CellKind.WRITTEN, name).text
        answer, scheme = cell.split("### BEGIN MARK SCHEME")
        assert "### END SOLUTION" in answer
        assert "### END MARK SCHEME" in scheme
        assert re.search(r"\b(half|quarter)\b", scheme, re.IGNORECASE)


def _names(code: CodeType) -> tuple[set[str], set[str]]:
    """Return what a cell or a function in it reads of the notebook's names, and what the cell writes."""
    reads: set[str] = set()
    writes: set[str] = set()
    for step in dis.get_instructions(code):
        if step.opname == "STORE_NAME":
            writes.add(step.argval)
        elif step.opname in ("LOAD_NAME", "LOAD_GLOBAL"):
            reads |= {step.argval} - writes
        elif isinstance(step.argval, CodeType):
            reads |= _names(step.argval)[0] - writes
    return reads, writes


def test_no_demo_reads_what_a_visible_test_wrote(lesson: LessonRun) -> None:
    """A test that fails early never writes it, and one that passes must not change what a demo made."""
    writer: dict[str, CellKind] = {}
    for cell in (cell for cell in lesson.cells if not cell.kind.is_markdown):
        reads, writes = _names(compile(cell.text, lesson.name, "exec"))
        if cell.kind is CellKind.DEMO:
            taken = {name for name in reads if writer.get(name) is CellKind.TEST}
            assert not taken, (taken, cell.text)
        writer |= dict.fromkeys(writes, cell.kind)


def test_prose_needs_no_script_to_show_a_formula(lesson: LessonRun) -> None:
    """Formulas stand in lines of text, between single dollar signs: slides can set these."""
    assert not [cell.id for cell in lesson.cells if cell.kind.is_markdown and "$$" in cell.text]


def test_lessons_do_not_import_what_marks_them(lesson: LessonRun) -> None:
    """No code of a lesson imports the autograder: students do not have it."""
    code = "\n".join(cell.text for cell in lesson.cells if not cell.kind.is_markdown)
    assert not re.search(r"^\s*(from|import)\s+autograder\b", code, re.MULTILINE)


def test_what_answers_need_does_not_import_the_check(lesson: LessonRun) -> None:
    """Grading runs those cells again for each wrong answer, and the check takes a tenth of a second to load."""
    needed = [cell.text for cell in lesson.cells if cell.kind in (CellKind.SETUP, CellKind.GIVEN)]
    imported = {name for text in needed for line in re.findall(r"^from coursework import (.+)", text, re.M) for name in line.split(", ")}
    assert imported.isdisjoint({"check", "hand_in", "skip"})


def test_no_line_of_an_answer_is_shown(lesson: LessonRun) -> None:
    """What stands in an answer stands nowhere a student can see, but for what is justified."""
    public = "\n".join(_squeezed(shown(cell)) for cell in lesson.cells)
    lines = {_squeezed(line) for line in lesson.answer_lines()}
    given_away = {line for line in lines if len(line) > LONG and line in public}
    assert given_away == set(JUSTIFIED.get(lesson.name, {}))


def _squeezed(text: str) -> str:
    """Return lines without the comment at their end, and single blanks between words."""
    bare = (re.sub(r"  # .*$", "", line) for line in text.split("\n"))
    return "\n".join(" ".join(line.split()) for line in bare)


@pytest.mark.parametrize("lesson", LESSONS.values(), ids=LESSONS)
def test_what_hints_link_to_exists(lesson: LessonRun) -> None:
    """Every page of PyTorch's documentation that a hint leads to is about something that PyTorch has."""
    prose = "".join(cell.text for cell in lesson.cells if cell.kind is CellKind.PROSE)
    linked = re.findall(r"docs\.pytorch\.org/docs/stable/generated/torch\.([\w.]+)\.html", prose)
    assert linked
    for name in linked:
        assert operator.attrgetter(name)(torch), name


@pytest.mark.parametrize("lesson", sorted(POINTS))
def test_a_letter_in_lower_case_passes_where_it_gets_its_points(lesson: str) -> None:
    """The form of an answer is what grading takes: both compare letters without their case."""
    text = (ROOT / "source" / f"{lesson}.py").read_text("utf-8")
    for test in re.findall(r"^for key in .*:\n    assert .* in \(\"A\", [^\n]*, \(\n.*\n    \)$", text, re.M):
        names = set(re.findall(r"for key in (\w+)", test))
        for letter, passes in {"b": True, "B": True, "E": False}.items():
            scope = {"answers": {"one": letter}} | dict.fromkeys(names, ("one",))
            if passes:
                exec(test, scope)
            else:
                with pytest.raises(AssertionError):
                    exec(test, scope)


def test_in_the_solved_notebook_the_lesson_at_a_glance_is_all_done(lesson: LessonRun) -> None:
    """What a lecturer shows at the end says that nothing is left to do."""
    solved = json.loads((ROOT / f"solutions/{lesson.name}.ipynb").read_text(encoding="utf-8"))
    outputs = [output for cell in solved["cells"] for output in cell.get("outputs", ())]
    texts = ["".join(each.get("data", {}).get("text/plain", ())) for each in outputs]
    [glance] = [each for each in texts if each.startswith(f"{lesson.name}: ")]
    assert "Everything that counts is done." in glance
