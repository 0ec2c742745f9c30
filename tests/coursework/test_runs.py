"""In JupyterLab, which tells each cell's id, what ran last in an exercise's own cell is what counts."""

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import nbformat
import pytest
from conftest import ROOT
from jupyter_client.manager import start_new_kernel

LESSON = "03_attention"


def released(lesson: str) -> dict[str, str]:
    """The texts of a lesson's cells, by their ids."""
    notebook = nbformat.read(ROOT / f"release/{lesson}/{lesson}.ipynb", as_version=4)
    return {cell.id: cell.source for cell in notebook.cells}


RELEASED = released(LESSON)
KERNEL = pytest.mark.full("a kernel of its own, for what others hold in part", seconds=5)
RIGHT = """def softmax(x, dim=-1):
    e = (x - x.amax(dim, keepdim=True)).exp()
    return e / e.sum(dim, keepdim=True)"""
NO_RETURN = RIGHT.replace("return ", "")
HEAD = """class SelfAttentionHead(nn.Module):
    def __init__(self, d_model, d_k=None):
        super().__init__()
        self.w_q, self.w_k = nn.Linear(d_model, d_k or d_model), nn.Linear(d_model, d_k or d_model)
        self.w_v = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        out, _ = scaled_dot_product_attention(self.w_q(x), self.w_k(x), self.w_v(x), mask)
"""
SOUND = """def scaled_dot_product_attention(q, k, v, mask=None):
    weights = softmax(attention_scores(q, k))
    if mask is not None:
        weights = weights.masked_fill(~mask, 0.0)
        weights = weights / weights.sum(-1, keepdim=True).clamp(min=1e-9)
    return weights @ v, weights"""
Lab = Callable[..., list[Any]]


def lab_in(
    folder: Path, *, lesson: str = LESSON, validating: bool = False, written: Mapping[str, str] | None = None
) -> Iterator[Lab]:
    """Start a kernel for a released lesson, and yield what runs a cell in it as JupyterLab does.

    The saved notebook has the cells `written` in place of those of the same ids. One of the id "copy" is a
    copy of `softmax`, below it.
    """
    notebook, texts = folder / lesson / f"{lesson}.ipynb", released(lesson)
    notebook.parent.mkdir()
    saved = nbformat.read(ROOT / f"release/{lesson}/{lesson}.ipynb", as_version=4)
    for cell in saved.cells:
        cell.source = (written or {}).get(cell.id, cell.source)
    if "copy" in (written or {}):
        index = next(number for number, cell in enumerate(saved.cells) if cell.id == "softmax")
        copied = nbformat.from_dict({**saved.cells[index], "id": "copy", "source": (written or {})["copy"]})
        saved.cells.insert(index + 1, copied)
    nbformat.write(saved, notebook)
    named = {"JPY_SESSION_NAME": str(notebook)} | ({"NBGRADER_VALIDATING": "1"} if validating else {})
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    manager, client = start_new_kernel(
        cwd=str(notebook.parent), env=os.environ | named | {"PYTHONPATH": path}
    )

    def run(cell: str, source: str | None = None) -> list[Any]:
        """Run a cell by its id, as it was released or with another text, and return its outputs."""
        content = {
            "code": texts[cell] if source is None else source,
            "silent": False,
            "store_history": True,
        }
        message = client.session.msg("execute_request", content, metadata={"cellId": cell})
        client.shell_channel.send(message)
        outputs = []
        while True:
            got = client.get_iopub_msg(timeout=60)
            if got["parent_header"].get("msg_id") != message["header"]["msg_id"]:
                continue
            if got["msg_type"] == "status" and got["content"]["execution_state"] == "idle":
                return outputs
            if got["msg_type"] in ("stream", "display_data", "execute_result", "error"):
                outputs.append(nbformat.v4.output_from_msg(got))

    run("setup-1")
    run("demo-1")
    yield run
    client.stop_channels()
    manager.shutdown_kernel(now=True)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A lesson in JupyterLab."""
    yield from lab_in(tmp_path_factory.mktemp("lab"))


@pytest.fixture(scope="module")
def validating(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A lesson in the kernel of `nbgrader validate`."""
    yield from lab_in(tmp_path_factory.mktemp("validating"), validating=True)


@pytest.fixture(scope="module")
def restarted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A lesson in JupyterLab after a restart: `softmax` is written and saved, and its cell has not run."""
    yield from lab_in(tmp_path_factory.mktemp("restarted"), written={"softmax": RIGHT})


@pytest.fixture
def copied(tmp_path: Path) -> Iterator[Lab]:
    """A lesson in JupyterLab in which the cell of `softmax` is there twice: right, and below it without a return."""
    yield from lab_in(tmp_path, written={"softmax": RIGHT, "copy": NO_RETURN})


def said(outputs: list[Any]) -> str:
    """All that a cell shows, prints or raises, as one line of text."""
    texts = [
        each.get("text") or (each.data["text/plain"] if "data" in each else "\n".join(each.traceback))
        for each in outputs
    ]
    return " ".join(" ".join(texts).split())


def test_a_skipped_exercise_works_and_is_not_taken_for_an_answer(lab: Lab) -> None:
    """Its test neither passes nor fails, `check` counts it as unanswered, and what needs it works."""
    lab("softmax")
    assert "softmax is not written yet" in said(lab("softmax-test"))
    assert said(lab("new", 'skip("softmax")')).startswith("softmax is skipped: a stand-in does its work")
    assert "so this test has nothing to test" in said(lab("softmax-test"))
    assert "○ softmax: skipped." in said(lab("demo-5"))
    assert "largest weight at d_k = 512" in said(lab("demo-14"))
    assert "skipped: grading reads its cell as it stands" in said(lab("demo-34"))


def test_a_written_answer_that_has_not_run_is_told_as_that(restarted: Lab) -> None:
    """After a restart: by its test, its check, a cell that needs it, and the lesson at a glance."""
    told = "softmax is not defined yet: its cell has not run since the kernel started."
    for outputs in (
        restarted("softmax-test"),
        restarted("demo-5"),
        restarted("new", "made = softmax(torch.zeros(2))"),
    ):
        assert told in said(outputs).replace("`", "")
        assert "not written yet" not in said(outputs)
    needs = said(restarted("new", "print(made)"))
    assert "because softmax is not defined yet. Run its cell, or run" in needs
    glance = said(restarted("new", "check()"))
    assert "○ `softmax` (2 points, 10 minutes): its cell has not run since the kernel started" in glance
    assert "○ `causal_mask` (2 points, 5 minutes): not written yet" in glance
    restarted("softmax", RIGHT)
    assert said(restarted("softmax-test")) == "softmax: the visible tests pass"


def test_what_an_earlier_cell_could_not_make_is_one_line(lab: Lab) -> None:
    """Whether it is missing or None, and also when the exercise has come since."""
    lab("new", 'skip("causal_mask")')
    lab("demo-7")
    lab("scaled-dot-product-attention")
    lab("demo-23")
    line = "kept is missing here, because scaled_dot_product_attention is not written yet."
    assert line in said(lab("new", "print(kept)"))
    lab("new", 'skip("scaled_dot_product_attention")')
    line = "kept is missing here: its cell ran before scaled_dot_product_attention was in place."
    assert said(lab("new", "print(kept)")).startswith(line)
    begun = RELEASED["scaled-dot-product-attention"] + "\n# begun"
    lab("scaled-dot-product-attention", begun)
    lab("new", "queries = None\nqueries = scaled_dot_product_attention(*torch.randn(3, 2, 4))[0]")
    lab("new", 'skip("scaled_dot_product_attention")')
    assert said(lab("demo-23")).startswith("queries is missing here: its cell ran before")
    lab("demo-7")
    assert "weight of cat in row its" in said(lab("demo-23"))


def test_a_demo_that_needs_a_cell_above_says_so(lab: Lab) -> None:
    """No exercise is blamed for what was not run."""
    lab("new", "del words")
    assert said(lab("demo-23")).startswith("words is not defined yet: a cell above this one has not run")
    lab("demo-7")


def test_writing_a_skipped_exercise_takes_the_stand_in_s_place(lab: Lab) -> None:
    """Then it is tested and checked as ever."""
    lab("new", 'skip("softmax")')
    lab("softmax", NO_RETURN)
    assert "Is there a return?" in said(lab("softmax-test"))
    lab("softmax", RIGHT)
    assert said(lab("softmax-test")) == "softmax: the visible tests pass"
    assert "✓ softmax" in said(lab("demo-5"))


def test_only_a_result_of_none_is_asked_for_its_return(lab: Lab) -> None:
    """Whether the test says the type of what it got, or stops at it."""
    lab("softmax", RIGHT.replace("return ", "return [*") + "]")
    assert "Expected a tensor, got list." in said(lab("softmax-test"))
    lab("softmax", NO_RETURN)
    assert "Expected a tensor, got None. Is there a return?" in said(lab("softmax-test"))
    lab("softmax", RIGHT)
    attention = "scaled-dot-product-attention"
    lab(attention, "def scaled_dot_product_attention(q, k, v, mask=None):\n    return None, None")
    stopped = said(lab(f"{attention}-test"))
    assert (
        "In the line assert output.shape == (2, 5, 3) of this test, something of yours is None" in stopped
    )
    lab(attention)


def test_skipping_what_was_written_is_undone_by_its_cell(lab: Lab) -> None:
    """The stand-in counts only as long as it is in place."""
    lab("softmax", RIGHT)
    lab("new", "skip(softmax)")
    assert "○ softmax: skipped." in said(lab("demo-5"))
    lab("softmax", RIGHT)
    assert "✓ softmax" in said(lab("demo-5"))


def test_a_cell_that_is_not_written_leaves_the_stand_in_in_place(lab: Lab) -> None:
    """Run All comes by it. And so does one that calls `skip` itself; what is written takes the stand-in's place."""
    lab("new", 'skip("softmax")')
    for source in (RELEASED["softmax"], 'skip("softmax")', f'{RELEASED["softmax"]}\nskip("softmax")'):
        lab("softmax", source)
        assert said(lab("new", "print(softmax(torch.zeros(2)))")) == "tensor([0.5000, 0.5000])"
        assert "○ softmax: skipped." in said(lab("demo-5"))
    lab("softmax", RIGHT)
    assert "✓ softmax" in said(lab("demo-5"))


def test_what_needs_no_stand_in_is_not_called_skipped(lab: Lab) -> None:
    """`skip` and `check` say the same of a dictionary of answers: it is not written, and nothing needs it."""
    lab("new", "globals().pop('answers', None)")
    states = [said(lab("new", "check('attention-shapes')"))]
    lab("attention-shapes")
    for call in ("skip('attention-shapes')", "skip('shapes and choices')", "skip(answers)"):
        assert said(lab("new", call)).startswith("Shapes and choices: nothing below needs it, so go on"), call
        states.append(said(lab("new", "check('attention-shapes')")))
    assert {each.partition(". ")[0] for each in states} == {"○ attention-shapes: not written yet"}
    assert "shapes and choices (2 points, 10 minutes): not written yet" in said(lab("new", "check()"))


def test_a_skipped_exercise_fails_validation(validating: Lab) -> None:
    """In one sentence, which `nbgrader validate` prints."""
    validating("softmax")
    validating("new", 'skip("softmax")')
    (error,) = validating("softmax-test")
    line = "softmax is skipped, so this test has nothing to test."
    assert (error.ename, [each.replace("\n", " ") for each in error.traceback]) == ("SkippedError", [line])


def test_a_cell_that_defines_another_name_is_no_answer(lab: Lab) -> None:
    """Not in place of an earlier run, and not the first time."""
    lab("softmax", RIGHT)
    lab("softmax", RIGHT.replace("softmax", "soft_max"))
    told = "defines `soft_max`, not `softmax`"
    assert told in said(lab("demo-5"))
    assert told.replace("`", "") in said(lab("softmax-test"))
    lab("causal-mask", "def causalmask(size):\n    return torch.ones(size, size).tril().bool()")
    told = "defines `causalmask`, not `causal_mask`"
    assert told in said(lab("demo-17"))
    assert told.replace("`", "") in said(lab("causal-mask-test"))


def test_a_failing_test_of_an_older_answer_says_that_it_is_older(lab: Lab) -> None:
    """The error in it is not that of the cell as it is now."""
    lab("softmax", NO_RETURN)
    lab("softmax", f"{RIGHT} +")
    assert "ended with a SyntaxError in line 3" in said(lab("softmax-test"))


def test_a_visible_test_says_what_is_excluded(lab: Lab) -> None:
    """It passes all the same: the result is right."""
    lab("softmax", "def softmax(x, dim=-1):\n    return x.softmax(dim)")
    told = said(lab("softmax-test"))
    assert told.startswith("softmax: the visible tests pass ✗ Grading gives no points for this.")
    assert "torch.softmax is excluded in this exercise" in told


def test_what_a_visible_test_rejects_is_not_right(lab: Lab) -> None:
    """The examples need not see that it is no parameter. Another run of the cell has to be tested anew."""
    lab("new", 'skip("scaled_dot_product_attention")')
    right = HEAD.replace("        out, _ =", "        return").replace(", mask)", ", mask)[0]")
    answer = right.replace("__init__()", "__init__()\n        self.weight = nn.Parameter(torch.ones(1))")
    lab("self-attention-head", answer)
    assert "✓ SelfAttentionHead" in said(lab("demo-27"))
    assert "Expected the weights" in said(lab("self-attention-head-test"))
    assert "✗ SelfAttentionHead: right on its examples, but a visible test fails" in said(lab("demo-27"))
    lab("self-attention-head", right)
    assert "✓ SelfAttentionHead" in said(lab("demo-27"))


@pytest.mark.parametrize("call", ["exit()", "quit()", "import sys; sys.exit(1)"])
def test_an_exit_ends_the_cell_and_not_the_kernel(lab: Lab, call: str) -> None:
    """It is told on one card."""
    lab("softmax", f"def softmax(x, dim=-1):\n    {call}")
    card, error = lab("softmax-test")
    assert "raised a SystemExit in line 2 of your cell" in card.data["text/plain"]
    assert error.ename == "SystemExit"
    assert "raised a SystemExit in line 2" in said(lab("demo-5"))
    assert said(lab("new", "print(torch.__name__)")) == "torch"


def test_exit_without_a_call_says_what_it_does(lab: Lab) -> None:
    """Python's own says how to leave Python, and a function's address says nothing."""
    told = said(lab("new", "exit"))
    assert told == "exit() ends only its cell. To stop working, save the notebook and close its tab."
    assert said(lab("new", "quit")).startswith("quit() ends only its cell.")


def test_a_blank_that_is_left_is_told_apart_from_one_not_begun(lab: Lab) -> None:
    """The cell has code of the student's."""
    lab("softmax", "def softmax(x, dim=-1):\n    x = x - 1\n    raise NotImplementedError()")
    assert said(lab("softmax-test")).startswith(
        "The cell of softmax still has a line raise NotImplementedError()"
    )


def test_a_module_without_forward_is_told_as_that(lab: Lab) -> None:
    """Torch raises NotImplementedError, and no blank is left."""
    lab("new", 'skip("scaled_dot_product_attention")')
    lab(
        "self-attention-head",
        HEAD.replace("    def forward", "        def forward").replace("    out", "        out"),
    )
    for cell in ("self-attention-head-test", "demo-27"):
        assert "The module has no" in said(lab(cell)), cell


def test_a_module_that_returns_nothing_is_told_as_that(lab: Lab) -> None:
    """Two mistakes made together can give None as well, and are not its name."""
    lab("new", 'skip("scaled_dot_product_attention")')
    lab("self-attention-head", HEAD)
    assert "The result is None; a tensor was expected. Is there a `return`?" in said(lab("demo-27"))


def test_what_is_interrupted_is_not_blamed_on_the_code(lab: Lab) -> None:
    """An endless loop is stopped by its student."""
    lab("softmax", "def softmax(x, dim=-1):\n    raise KeyboardInterrupt")
    assert "You stopped your code in line 2 of your cell" in said(lab("softmax-test"))


def test_skip_asks_for_a_name(lab: Lab) -> None:
    """It shows one of this lesson. A misspelt one is guessed."""
    assert said(lab("new", "skip()")).startswith('Say which exercise to skip, such as skip("softmax"). check()')
    elsewhere = "import os\nos.environ['JPY_SESSION_NAME'] = '{}.ipynb'\nskip()"
    for lesson, name in (("02_positional_encoding", "sinusoidal_encoding"), ("05_encoder", "LayerNorm")):
        told = said(lab("new", elsewhere.format(lesson)))
        assert told.startswith(f'Say which exercise to skip, such as skip("{name}"). check()')
    lab("new", elsewhere.format("03_attention"))
    assert "Did you mean 'softmax'?" in said(lab("new", 'skip("sofmax")'))


def test_a_name_that_was_deleted_is_told_as_that(lab: Lab) -> None:
    """Its cell does define it: nothing is said of how the name is spelt."""
    lab("softmax", RIGHT)
    told = said(lab("added", "del softmax\ncheck('softmax')"))
    assert "was defined by its cell, and has been deleted since" in told
    lab("softmax", RIGHT)
    assert "Right on all" in said(lab("added", "check('softmax')"))


def test_a_visible_test_blames_an_earlier_exercise_for_nothing_that_is_the_answers_own(lab: Lab) -> None:
    """The mistake of the answer comes first, the earlier one beside it."""
    lab("softmax", NO_RETURN)
    lab("attention-scores", "def attention_scores(q, k):\n    return q")
    lab("scaled-dot-product-attention", SOUND)
    assert 'check("softmax") fails first' in said(lab("scaled-dot-product-attention-test"))
    lab(
        "scaled-dot-product-attention",
        SOUND.replace("    weights = softmax", "    q.nothing\n    weights = softmax"),
    )
    told = said(lab("scaled-dot-product-attention-test"))
    assert "an AttributeError in line 2 of your cell" in told
    assert "softmax, which it needs, fails as well." in told
    assert "fails first" not in told
    lab("softmax", RIGHT)


def test_a_test_that_failed_because_of_an_earlier_exercise_is_not_held_against_the_answer(lab: Lab) -> None:
    """It passed with a right one in place. Until that one is mended, the answer waits for it."""
    lab("softmax", NO_RETURN)
    lab("attention-scores", "def attention_scores(q, k):\n    return q @ k.mT / k.size(-1) ** 0.5")
    lab("scaled-dot-product-attention", SOUND)
    assert 'check("softmax") fails first' in said(lab("scaled-dot-product-attention-test"))
    assert "with a working softmax" in said(lab("new", "check(scaled_dot_product_attention)"))
    lab("softmax", RIGHT)
    assert "Right on all" in said(lab("new", "check(scaled_dot_product_attention)"))


def test_what_failed_for_an_earlier_exercise_is_not_called_failing(lab: Lab) -> None:
    """An exercise that needs it has a mistake of its own, and that alone is told."""
    lab("softmax", NO_RETURN)
    lab("attention-scores", "def attention_scores(q, k):\n    return q @ k.mT / k.size(-1) ** 0.5")
    lab("scaled-dot-product-attention", SOUND)
    lab("scaled-dot-product-attention-test")
    lab("softmax", RIGHT)
    lab("self-attention-head", HEAD)
    told = said(lab("new", "check(SelfAttentionHead)"))
    assert "fails as well" not in told
    assert "scaled_dot_product_attention" not in told.replace(" scaled_dot_product_attention(", "")


def test_an_exercise_that_was_written_and_is_skipped_is_still_graded(lab: Lab) -> None:
    """`skip` changes names in the notebook, and no cell of it."""
    lab("softmax", RIGHT)
    assert "Grading reads its cell as it stands." in said(lab("new", "skip(softmax)"))
    assert "Grading reads the exercise's own cell as it stands." in said(lab("new", 'check("softmax")'))
    lab("softmax", RIGHT)


def test_an_answer_by_excluded_means_is_told_where_its_visible_test_passes(lab: Lab) -> None:
    """The test compares numbers, which are right."""
    lab("softmax", "def softmax(x, dim=-1):\n    return torch.softmax(x, dim)")
    assert "✗ Grading gives no points for this." in said(lab("softmax-test"))
    lab("softmax", RIGHT)


def test_a_visible_test_never_only_passes_what_check_rejects(tmp_path: Path) -> None:
    """Also where no function is excluded: rows that are looked up are no matrix product, whatever fetches them."""
    for run in lab_in(tmp_path, lesson="01_embeddings"):
        for rows in ("table[ids]", "F.embedding(ids, table)", "table.index_select(0, ids.flatten()).unflatten(0, ids.shape)"):
            run("one-hot-embed", f"def one_hot_embed(ids, table):\n    return {rows}")
            told = said(run("one-hot-embed-test"))
            assert "the visible tests pass ✗ 0 of 2 examples come out right. The rows are looked up, not" in told
        run("one-hot-embed", "def one_hot_embed(ids, table):\n    return F.one_hot(ids, len(table)).to(table.dtype) @ table")
        assert said(run("one-hot-embed-test")) == "one_hot_embed: the visible tests pass"


def test_a_failing_test_of_excluded_means_says_that_first(lab: Lab) -> None:
    """A correction of what else is wrong would be for nothing."""
    lab("softmax", "def softmax(x, dim=-1):\n    return torch.softmax(x, 0).double()")
    told = said(lab("softmax-test"))
    assert "fails: Grading gives no points for this. torch.softmax is excluded in this exercise." in told
    lab("softmax", RIGHT)


def test_answers_without_examples_have_one_state(lab: Lab) -> None:
    """In the cell, by name and at a glance. No right or wrong is claimed where nothing is checked."""
    right = "answers = dict(q=(1, 2, 3), k=(1, 2, 3), v=(1, 2, 3), scores=(1, 2, 3), output=(1, 2, 3), "
    right += "why_scale='A', other_score='B', conditions='C', value_vectors=4)"
    states = {
        right: "● filled in; the grader says whether it is right",
        right.replace("'A'", "None"): "○ still to be answered: why_scale",
        f"{right}\nraise NotImplementedError()": "○ filled in, but its raise line is still there",
        right.replace("dict(", "list("): "○ not defined",
        right.replace("'A'", "'E'"): "✗ a visible test fails",
    }
    for source, state in states.items():
        mark, words = state.split(" ", 1)
        lab("new", "globals().pop('answers', None)")
        ended = said(lab("attention-shapes", source))
        assert "raise line is still there" not in state or "raise line is still there" in ended
        lab("attention-shapes-test")
        assert f"{mark} attention-shapes: {words}" in said(lab("new", "check('attention-shapes')"))
        glance = said(lab("new", "check()")).partition("shapes and choices (2 points, 10 minutes): ")
        assert glance[0].endswith(f"{mark} "), state
        assert mark != "●" or glance[2].startswith(words)


@KERNEL
def test_answers_that_lack_an_entry_are_not_called_filled_in(tmp_path: Path) -> None:
    """Nor before their visible test has run: one is left out, or misspelt. `hand_in` says so as well."""
    for run in lab_in(tmp_path, lesson="04_multi_head_attention", written={"head-shapes": "answers = {}"}):
        for source in ("answers = {}", "answers = {'q_heads': (4, 2, 5, 3)}"):
            run("head-shapes", source)
            told = said(run("new", "check('head-shapes')"))
            assert "✗ head-shapes: a visible test fails: These entries are missing from answers: [" in told
            assert "'projections'" in told
            assert "Everything that counts is done" not in said(run("new", "check()"))
        run("head-shapes", "answers = {}")
        assert "Not right yet: shapes and choices." in said(run("new", "from coursework import hand_in\nhand_in()"))


def test_a_letter_without_quotes_is_one_line(lab: Lab) -> None:
    """In a dictionary of answers; the exercise has to be corrected, and nothing lacks."""
    told = said(lab("attention-shapes", "answers = {'why_scale': D}"))
    assert told == 'D is not defined. An answer by its letter is text, in quotes: "D".'
    assert "in quotes" not in said(lab("attention-shapes", "answers = {'scores': (B, 6, 9)}"))


def test_an_exercise_of_another_lesson_is_told_as_that(lab: Lab) -> None:
    """It is neither unwritten here nor defined by the wrong cell."""
    told = said(lab("added", "check('multi-head-attention')"))
    assert "is an exercise of 04_multi_head_attention" in told
    assert "skip" not in told


def test_of_a_cell_that_was_copied_the_last_counts_as_in_grading(copied: Lab) -> None:
    """The first is never called right, the last is what `check` tries, and `hand_in` says that there are two."""
    copied("softmax", RIGHT)
    told = said(copied("new", 'check("softmax")'))
    assert told.startswith("○ softmax: not checked. The notebook has several cells")
    copied("copy", NO_RETURN)
    assert "Is there a return?" in said(copied("new", 'check("softmax")')).replace("`", "")
    copied("softmax", RIGHT)
    copied("gone", RIGHT)  # a cell that the saved notebook does not have
    assert "now comes from another cell" in said(copied("new", 'check("softmax")'))
    handed_in = said(copied("new", "from coursework import hand_in\nhand_in()"))
    assert "The notebook has several cells of softmax, and grading takes the last one." in handed_in
    assert "was written as you saved it" in handed_in


def test_what_only_the_kernel_has_is_told_before_handing_in(tmp_path: Path) -> None:
    """The cell of a helper was deleted, and that of an import: the answer works here, and nowhere else."""
    answer = "def softmax(x, dim=-1):\n    e = powers(x - x.amax(dim, keepdim=True))\n    return e / e.sum(dim, keepdim=True) * np.float32(1)"
    for run in lab_in(tmp_path, written={"softmax": answer}):
        run("new", "import numpy as np\ndef powers(x):\n    return x.exp()")
        run("softmax", answer)
        told = said(run("new", "check(softmax)")).replace("`", "")
        assert told.startswith("○ softmax: right on its examples, but part of it is not in the saved notebook.")
        assert "No cell of the saved notebook defines np and powers, which it uses" in told
        told = said(run("new", "from coursework import hand_in\nhand_in()"))
        assert "The cell of softmax uses np and powers, which no cell of the saved notebook defines" in told
        assert "was written as you saved it" in told
        run("softmax", f"{answer}  # not saved yet")
        assert "Right on all" in said(run("new", "check(softmax)"))  # nor need the helper be
        run("softmax", answer)
        run("new", "def dim(x):\n    return x")
        told = said(run("new", "hand_in()"))
        assert "uses np and powers, which" in told  # `dim` is an argument, whatever else has the name


SCORES = "def attention_scores(q, k):\n    return q @ k.mT / k.size(-1) ** 0.5"


MAGICS = [pytest.param(each, marks=KERNEL) for each in ("%%time", "%%prun -q")]


@pytest.mark.parametrize("magic", ["%%capture", *MAGICS])
def test_an_answer_below_a_magic_is_the_cells_own(tmp_path: Path, magic: str) -> None:
    """Of a cell that was saved and run so, the test passes, `check` says right, and it can be handed in."""
    source = f"{magic}\n{SCORES}"
    for run in lab_in(tmp_path, written={"attention-scores": source}):
        run("attention-scores", source)
        assert said(run("attention-scores-test")) == "attention_scores: the visible tests pass"
        assert "Right on all" in said(run("new", "check(attention_scores)"))
        assert "is the file to hand in" in said(run("new", "from coursework import hand_in\nhand_in()"))
        run("attention-scores", f"{magic}\nraise ValueError(1)\n{SCORES}")
        told = said(run("new", "check(attention_scores)"))
        assert "The last run of this cell ended with a ValueError" in told.replace("`", "")


@pytest.mark.parametrize("magic", ["%%time", "%%prun -q"])
def test_the_text_below_a_magic_is_read_as_grading_reads_it(lab: Lab, magic: str) -> None:
    """IPython runs it without a file's name. The text stays known, whatever other cells bind or define again."""
    softmax = "def softmax(x, dim=-1):\n    e = (x - x.amax(dim, keepdim=True)).exp()\n    return e / e.sum(dim, keepdim=True)"
    lab("softmax", f"{magic}\n{softmax}")
    assert "Right on all" in said(lab("new", "check(softmax)"))
    odd = "class Settings(dict):\n    __getattr__ = dict.__getitem__\n\n"  # it has any attribute, or raises a KeyError
    helper = f"{magic}\nimport ctypes\n{odd}class Helper:\n    def f(self, x):\n        return x\nsettings = Settings(a=1)"
    lab("new", helper)
    assert "Error in callback" not in said(lab("new", helper)) + said(lab("new", "same, again = Helper, softmax"))
    lab("softmax", f"{magic}\n{softmax.replace('x.amax', 'Helper().f(x).amax')}")
    for source in ("1", f"{magic}\nimport ctypes\n{softmax}", f"{magic}\nimport ctypes\n{softmax}", "import math\nanother = softmax"):
        told = said(lab("softmax" if "softmax(x" in source else "new", source)) + said(lab("new", "check(softmax)"))
        assert "no points" in told
        assert "imports ctypes" in told.replace("`", "")


@KERNEL
def test_a_magic_that_keeps_nothing_is_named(tmp_path: Path) -> None:
    """By `check` and `hand_in`, the first time and where an earlier run has left the name."""
    source = f"%%timeit -n1 -r1\n{SCORES}"
    for run in lab_in(tmp_path, written={"attention-scores": source}):
        told = "%%timeit keeps nothing of what its cell defines. Delete that line, and run the cell again."
        for first in ("pass", SCORES):
            run("attention-scores", first)
            run("attention-scores", source)
            assert told in said(run("new", "check('attention_scores')")).replace("`", "")
            assert told in said(run("attention-scores-test")).replace("`", "")
        handed_in = said(run("new", "from coursework import hand_in\nhand_in()"))
        assert "The cell of attention_scores begins with %%timeit, which keeps nothing" in handed_in


def test_a_magic_below_the_first_line_is_told_as_ipython_does(lab: Lab) -> None:
    """The cell ends in IPython's error, and in no other cell's."""
    lab("new", "globals().pop('causal_mask', None)")
    lab("causal-mask", "# mine\n%%time\ndef causal_mask(size):\n    return torch.ones(size, size).tril().bool()")
    told = said(lab("new", "check('causal_mask')")).replace("`", "")
    assert "ended with a UsageError (Line magic function %%time not found)." in told


def test_what_has_not_run_is_named_before_handing_in(tmp_path: Path) -> None:
    """After a restart a wrong answer is not known to be wrong. Nor is one whose cell fails."""
    written = {"softmax": NO_RETURN, "causal-mask": "causal_mask = nowhere", "attention-scores": "def attention_scores(q:"}
    for run in lab_in(tmp_path, written=written):
        told = said(run("new", "from coursework import hand_in\nhand_in()"))
        line = "Not run since the kernel started, so not checked: softmax, causal_mask. Run the cell of each, then"
        assert line in told
        assert "You may hand in anyway" in told
        run("softmax", NO_RETURN)
        run("causal-mask", written["causal-mask"])
        told = said(run("new", "hand_in()"))
        assert "Not right yet: softmax." in told
        assert 'Not checked: causal_mask. check("causal_mask") says why.' in told
        assert "Not run since" not in told


@KERNEL
def test_an_earlier_exercise_that_has_only_not_run_is_not_called_failing(tmp_path: Path) -> None:
    """By `check`, alone and at a glance; nor is one that is not written."""
    attention = "scaled-dot-product-attention"
    for run in lab_in(tmp_path, written={"softmax": RIGHT, "attention-scores": SCORES, attention: SOUND}):
        run("attention-scores", SCORES)
        run(attention, SOUND)
        told = said(run("new", "check(scaled_dot_product_attention)")).replace("`", "")
        assert "with a working softmax. softmax is not defined yet: its cell has not run since" in told
        assert "fails first" not in told
        assert "with a working softmax: run its cell first" in said(run("new", "check()"))
        run(attention, SOUND.replace("weights @ v", "weights"))
        told = said(run("new", "check(scaled_dot_product_attention)"))
        assert "Its own mistake is below; softmax, which it needs, is not defined." in told
        run("softmax")
        run(attention, SOUND)
        told = said(run("new", "check(scaled_dot_product_attention)")).replace("`", "")
        assert "with a working softmax. softmax is not written yet." in told
        assert "with a working softmax: write that first" in said(run("new", "check()"))


TABLE = """def sinusoidal_encoding(max_len, d_model):
    if d_model % 2:
        raise ValueError(d_model)
    angles = torch.arange(max_len)[:, None] / 10000 ** (torch.arange(0, d_model, 2) / d_model)
    return torch.stack((angles.sin(), angles.cos()), -1).flatten(1)"""
SHIFT = """def shift_matrix(offset, d_model):
    matrix = torch.zeros(d_model, d_model)
    for row in range(0, d_model, 2):
        a = torch.tensor(offset / 10000 ** (row / d_model))
        matrix[row : row + 2, row : row + 2] = torch.stack((a.cos(), a.sin(), -a.sin(), a.cos())).view(2, 2)
    return matrix"""


@KERNEL
def test_an_earlier_exercise_that_only_the_test_calls_is_blamed_as_well(tmp_path: Path) -> None:
    """And nothing is held against the answer, which is right."""
    for run in lab_in(tmp_path, lesson="02_positional_encoding"):
        for table in (f"{TABLE}.double()", TABLE.replace("stack", "cat").replace(".flatten(1)", ""), f"{TABLE}.T"):
            run("sinusoidal-encoding", table)
            run("shift-matrix", SHIFT)
            told = said(run("shift-matrix-test"))
            assert 'fails: check("sinusoidal_encoding") fails first: fix that. This test needs it' in told
            assert "✓ shift_matrix" in said(run("new", "check('shift-matrix')"))
            run("shift-matrix", SHIFT.replace("return matrix", "return matrix.double()"))
            told = said(run("shift-matrix-test"))
            assert "fails first" not in told
            assert "float64" in told
        run("sinusoidal-encoding", TABLE)
        run("shift-matrix", SHIFT)
        assert said(run("shift-matrix-test")) == "shift_matrix: the visible tests pass"


NORM = """class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(d_model)), nn.Parameter(torch.zeros(d_model))
        self.eps = eps

    def forward(self, x):
        return F.layer_norm(x, (x.size(-1),), self.weight, self.bias, self.eps)"""
FEED = """class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.1):
        super().__init__()
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return self.linear2(self.dropout(self.linear1(x).relu()))"""
LAYER = """class EncoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.norm1, self.norm2, self.dropout = LayerNorm(d_model), LayerNorm(d_model), nn.Dropout(dropout)

    def forward(self, x, mask=None):
        x = self.norm1(x + self.dropout(self.self_attention(x, x, x, mask)[0]))
        return self.norm2(x + self.dropout(self.feed_forward(x)))"""


def test_an_earlier_exercise_is_blamed_only_if_the_test_passes_without_its_mistake(tmp_path: Path) -> None:
    """One that is excluded computes the right thing: the answer's own mistake is told, by test and check."""
    for run in lab_in(tmp_path, lesson="05_encoder"):
        run("layer-norm", NORM)
        run("feed-forward", FEED)
        run("encoder-layer", LAYER)
        (told,) = (said([each]) for each in run("encoder-layer-test") if "data" in each)
        assert "train and eval mode differ" in told
        assert "fails first" not in told
        told = said(run("new", "check('encoder-layer')"))
        assert told.startswith("✗ EncoderLayer: right on its examples, but a visible test fails:")
        assert "train and eval mode differ" in told
        run("encoder-layer", LAYER.replace("d_ff)", "d_ff, dropout)"))
        assert "the visible tests pass" in said(run("encoder-layer-test"))
        assert "✓ EncoderLayer" in said(run("new", "check('encoder-layer')"))


HEADS = "def split_heads(x, num_heads):\n    return x.unflatten(-1, (num_heads, -1)).transpose(1, 2)"
MERGED = "def merge_heads(x):\n    return x.transpose(1, 2).flatten(2)"
ATTENTION = """class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0):
        super().__init__()
        if d_model % num_heads:
            raise ValueError(d_model)
        self.h, self.drop = num_heads, nn.Dropout(dropout)
        self.w_q, self.w_k, self.w_v, self.w_o = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, query, key, value, mask=None):
        q, k, v = (split_heads(x, self.h) for x in (self.w_q(query), self.w_k(key), self.w_v(value)))
        if mask is not None and mask.dim() == 3:
            mask = mask.unsqueeze(1)
        _, w = scaled_dot_product_attention(q, k, v, mask)
        w = self.drop(w)
        return self.w_o(merge_heads(w @ v)), w"""
COPY = """def load_from_torch(mine, theirs):
    with torch.no_grad():
        layers = (mine.w_q, mine.w_k, mine.w_v)
        for layer, w, b in zip(layers, theirs.in_proj_weight.chunk(3), theirs.in_proj_bias.chunk(3)):
            layer.weight.copy_(w), layer.bias.copy_(b)
        mine.w_o.load_state_dict(theirs.out_proj.state_dict())"""
COUNT = "def parameter_count(d_model, num_heads):\n    print(4 * d_model * (d_model + 1))"


def test_a_demo_blames_the_exercise_that_it_failed_for(tmp_path: Path) -> None:
    """Not another that is wrong as well: whose code raised counts, and then what the demo itself calls."""
    for run in lab_in(tmp_path, lesson="04_multi_head_attention"):
        run("split-heads", HEADS.replace(".transpose(1, 2)", ""))
        run("merge-heads", MERGED)
        run("multi-head-attention", ATTENTION)
        run("parameter-count", COUNT)
        told = said(run("demo-19"))  # through MultiHeadAttention, it calls split_heads as well
        assert "parameter_count is not right yet, so this cell cannot run." in told
        run("load-from-torch", COPY.replace("with torch.no_grad():", "if True:"))
        assert "load_from_torch is not right yet" in said(run("demo-17"))
        run("load-from-torch", COPY)
        assert "split_heads is not right yet" in said(run("demo-17"))
        run("split-heads", HEADS)
        run("multi-head-attention", ATTENTION.replace("w_q", "W_q"))
        assert "MultiHeadAttention is not right yet" in said(run("demo-17"))


@KERNEL
def test_what_is_skipped_is_named_before_handing_in(tmp_path: Path) -> None:
    """A written answer that was not right is not forgotten, and one that is not written is named once."""
    for run in lab_in(tmp_path, written={"softmax": NO_RETURN}):
        run("softmax", NO_RETURN)
        assert "Not right yet: softmax." in said(run("new", "from coursework import hand_in\nhand_in()"))
        run("new", "skip('softmax', 'causal_mask')")
        told = said(run("new", "hand_in()"))
        assert "Skipped, so not checked: softmax. Grading reads the cell as it stands." in told
        assert told.count("causal_mask") == 1


def test_what_only_has_to_be_saved_is_told_as_that(tmp_path: Path) -> None:
    """A cell whose saved text is newer than its last run has to be run as well."""
    for run in lab_in(tmp_path, written={"softmax": NO_RETURN}):
        run("softmax", RIGHT)
        told = said(run("new", "from coursework import hand_in\nhand_in()"))
        assert told.startswith("You ran the cell of softmax after the notebook was last saved. Save it (Ctrl+S),")
        (file,) = tmp_path.glob("*/*.ipynb")
        file.write_text(file.read_text("utf-8").replace("x.amax", "x.max"), "utf-8")
        told = said(run("new", "hand_in()"))
        assert told.startswith("The cell of softmax in the saved file is not what you last ran. Run it, save")


def test_what_was_saved_after_it_ran_is_not_called_right(tmp_path: Path) -> None:
    """Grading reads what is saved. A cell that is empty there cannot be run again, and is not answered."""
    for run in lab_in(tmp_path, written={"softmax": RIGHT}):
        run("softmax", RIGHT)
        assert "Right on all" in said(run("new", "check('softmax')"))
        (file,) = tmp_path.glob("*/*.ipynb")
        notebook = nbformat.read(file, as_version=4)
        (cell,) = (cell for cell in notebook.cells if cell.id == "softmax")
        for source, told in (RIGHT.replace("def soft", "def sof"), "is not what you last ran"), ("", "is empty"):
            cell.source = f"# the same with a comment\n{RIGHT}"
            nbformat.write(notebook, file)
            assert "Right on all" in said(run("new", "check('softmax')"))
            cell.source = source
            nbformat.write(notebook, file)
            assert f"there the cell of softmax {told}" in said(run("new", "check('softmax')")).replace("`", "")
        assert "Not answered yet: softmax (2 points)" in said(run("new", "from coursework import hand_in\nhand_in()"))
        run("softmax", RIGHT)  # and not saved yet
        assert said(run("new", "hand_in()")).startswith("You ran the cell of softmax after the notebook was last saved")


def test_an_answer_in_a_cell_of_ones_own_counts_as_in_grading(tmp_path: Path) -> None:
    """If the exercise's own is as it was released, and no other cell defines the name: as it is saved."""
    for run in lab_in(tmp_path, written={"demo-1": f"{RELEASED['demo-1']}\n\n{RIGHT}"}):
        run("causal-mask")
        run("new", RIGHT)  # not what is saved
        told = said(run("new", "check('softmax')"))
        assert told.startswith("○ softmax: not checked. Grading may not see this: what `softmax` means now comes")
        assert "no points" not in told + said(run("softmax-test"))
        for before in ("pass", RELEASED["softmax"]):
            run("softmax", before) if before != "pass" else None
            run("demo-1", f"{RELEASED['demo-1']}\n\n{RIGHT}")
            assert said(run("softmax-test")) == "softmax: the visible tests pass"
            assert "Right on all" in said(run("new", "check('softmax')"))
            told = said(run("new", "from coursework import hand_in\nhand_in()"))
            assert "softmax" not in told
            assert "attention_scores (3 points)" in told


def test_of_another_version_in_a_cell_of_ones_own_nothing_untrue_is_said(tmp_path: Path) -> None:
    """Grading takes it where it stands above the test and is right, and the exercise's own cell otherwise."""
    for run in lab_in(tmp_path, written={"softmax": NO_RETURN}):
        run("softmax", NO_RETURN)
        run("new", RIGHT)
        unseen = "Grading may not see this: what softmax means now comes from another cell."
        assert f"softmax: the visible tests pass ○ {unseen}" in said(run("softmax-test"))
        assert f"○ softmax: not checked. {unseen}" in said(run("new", "check('softmax')")).replace("`", "")
        told = said(run("new", "from coursework import hand_in\nhand_in()"))
        assert 'Not checked: softmax. check("softmax") says why.' in told
        assert "no points for this" not in told
        run("new", NO_RETURN)
        assert f"fails: {unseen}" in said(run("softmax-test"))


def test_a_cell_that_is_saved_under_another_name_is_not_called_unwritten(tmp_path: Path) -> None:
    """It may not have run since the kernel started, or run where cells have no ids."""
    written = {"softmax": RIGHT.replace("softmax", "soft_max"), "attention-shapes": "answer = {}"}
    for run in lab_in(tmp_path, written=written):
        told = "defines soft_max, not softmax. Grading looks for softmax in this cell"
        for source in ("check('softmax')", "check()", RELEASED["softmax-test"]):
            assert told in said(run("new", source)).replace("`", ""), source
        assert "does not define answers" in said(run("new", "check()")).replace("`", "")


def test_an_answer_that_calls_input_is_told_that(lab: Lab) -> None:
    """The exception is ipykernel's, and nobody's own."""
    lab("softmax", f"{RIGHT.replace('    return', '    input()' + chr(10) + '    return')}")
    for outputs in (lab("softmax-test"), lab("new", "check(softmax)")):
        assert "Your code calls input(), and here nobody can answer it." in said(outputs).replace("`", "")
    lab("softmax", RIGHT)


def test_an_exception_in_the_cell_of_another_exercise_names_it(lab: Lab) -> None:
    """It is right on its examples, and so not one that fails first."""
    lab("softmax", NO_RETURN)
    lab("attention-scores", SCORES.replace("    return", "    if q.shape[-2] == 5:\n        q.nothing\n    return"))
    lab("scaled-dot-product-attention", SOUND)
    assert "✓ attention_scores" in said(lab("new", "check(attention_scores)"))
    told = said(lab("scaled-dot-product-attention-test")).replace("`", "")
    assert "AttributeError in the cell of attention_scores" in told
    assert "softmax, which it needs, fails as well" in told
    lab("softmax", RIGHT)
