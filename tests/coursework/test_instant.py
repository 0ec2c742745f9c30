"""The instant check says what is wrong with an answer, and leaves everything else as it was."""

import __future__

import linecache
import math
import random
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import nbformat
import pytest
import torch
from conftest import ROOT
from torch import nn

from autograder.judge.oracle import BASE
from autograder.lessons.loading import load_lesson
from autograder.model.course import Course
from coursework import check, stand_ins
from coursework.engine.draw import only_differing, tables_of
from coursework.engine.observation import Observation
from coursework.instant import notebook as notebook_module
from coursework.instant.card import Card, same_result
from coursework.instant.exercises import exercises_of
from coursework.stand_ins import (
    FeedForward,
    LayerNorm,
    PositionalEncoding,
    TokenEmbedding,
    scaled_dot_product_attention,
)
from coursework.stand_ins_models import EncoderLayer


def plain(x: torch.Tensor, dim: int) -> torch.Tensor:
    """Compute a softmax with nothing that the exercise excludes."""
    e = (x - x.amax(dim, keepdim=True)).exp()
    return e / e.sum(dim, keepdim=True)


def wrong_axis(x: torch.Tensor, dim: int = -1) -> torch.Tensor:
    """Ignore `dim`."""
    return plain(x, 0)


def stable(x: torch.Tensor, dim: int = -1) -> torch.Tensor:
    """Compute it right, and say something besides."""
    print("a stray print")
    warnings.warn("and a warning", stacklevel=2)
    e = (x - x.amax(dim, keepdim=True)).exp()
    return torch.einsum("...->...", e) / e.sum(dim, keepdim=True)


def test_an_answer_in_words_is_graded_by_a_person(tmp_path: Path) -> None:
    """No right or wrong is claimed: only whether the saved notebook has one, if that is found at all."""
    lesson = "01_embeddings"
    notebook = nbformat.read(ROOT / f"release/{lesson}/{lesson}.ipynb", as_version=4)
    file = tmp_path / f"{lesson}.ipynb"
    (cell,) = (cell for cell in notebook.cells if cell.id == "recurrence")
    question = cell.source.removesuffix("YOUR ANSWER HERE")
    unwritten = "○ recurrence: not written yet, as saved."
    for answer, card in (cell.source, unwritten), (question, unwritten), ("Words.", "● recurrence: written; a person"):
        cell.source = answer
        nbformat.write(notebook, file)
        assert check("recurrence", {"__vsc_ipynb_file__": str(file)}).text.startswith(card)
    elsewhere = tmp_path / "elsewhere" / file.name
    assert check("recurrence", {"__vsc_ipynb_file__": str(elsewhere)}).text.startswith("● recurrence: written")


def tried(exercise: str, answer: Any, *, name: str = "") -> Card:
    """Check one answer, which is bound to `name`, by default the exercise's id as a name."""
    return check(exercise, {name or exercise.replace("-", "_"): answer})


def test_a_right_answer_in_an_unusual_form_is_right_and_gets_no_name(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What it prints is shown, folded in a notebook; what it warns about is dropped."""
    card = tried("softmax", stable)
    assert (card.passed, card.title, card.hint) == (True, "", "")
    assert "a stray print" in card.text
    assert "and a warning" not in card.text
    assert "<summary" in card.html


def test_a_known_mistake_is_named_with_its_hint_and_the_smallest_example() -> None:
    """The card shows the call, what came, and what was expected."""
    card = tried("softmax", wrong_axis)
    assert not card.passed
    assert card.known
    assert card.hint
    assert card.example is not None
    assert card.example.call in card.text
    assert "yours" in card.text
    assert "expected" in card.text


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda x, dim=-1: torch.softmax(x, dim), "`torch.softmax` is excluded in this exercise."),
        (lambda x, dim=-1: torch.log_softmax(x, dim).exp(), "`torch.log_softmax` is excluded"),
        (lambda x, dim=-1: nn.Softmax(dim)(x), "`torch.softmax` is excluded"),
    ],
)
def test_what_the_exercise_excludes_is_never_right(answer: Callable[..., Any], said: str) -> None:
    """By the list that grading goes by; afterwards the function works again."""
    card = tried("softmax", answer)
    assert not card.passed
    assert said in card.title
    assert "no points" in card.headline
    assert answer(torch.zeros(2)).tolist() == [0.5, 0.5]


def test_the_text_of_an_answer_and_of_its_helpers_is_read_as_in_grading() -> None:
    """A way around the kernels is not right either."""
    helper = cell("def helper(x, dim):\n    return torch.ops.aten.softmax(x, dim)\n", "helper")
    own = cell("def softmax(x, dim=-1):\n    return helper(x, dim)\n", "softmax", helper=helper)
    card = check("softmax", {"softmax": own, "helper": helper, "torch": torch})
    assert not card.passed
    assert "uses `torch.ops`" in card.title


def cell(source: str, name: str, **names: Any) -> Any:
    """Return what a cell of a notebook defines."""
    place = f"/tmp/ipykernel_1/{name}.py"
    linecache.cache[place] = (len(source), None, source.splitlines(keepends=True), place)
    scope = {"torch": torch, **names}
    exec(compile(source, place, "exec"), scope)
    return scope[name]


def test_an_exit_is_told() -> None:
    """It neither ends the process nor the cell."""

    def leave(size: int) -> None:
        raise SystemExit

    assert "SystemExit" in tried("causal-mask", leave).title


def test_input_waits_for_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """It gives an empty line, as in grading; outside of the check it asks as ever."""

    def asked(_prompt: str = "") -> str:
        raise AssertionError("waits for somebody to type")

    def typed(size: int) -> Any:
        return torch.ones(size, int(input("How many? ")), dtype=torch.bool).tril()

    def paused(size: int) -> Any:
        input("Press Enter")
        return torch.ones(size, size, dtype=torch.bool).tril()

    monkeypatch.setattr("builtins.input", asked)
    assert "take the value from the arguments" in str(tried("causal-mask", typed))
    assert tried("causal-mask", paused).passed
    assert input is asked


def test_one_mistake_is_named_the_likeliest() -> None:
    """Of two that were made together, it is the one that explains more; of two alike, the first declared."""

    def no_keepdim(x: torch.Tensor, dim: int = -1) -> torch.Tensor:
        e = (x - x.max()).exp()
        return e / e.sum(dim)

    def by_keys(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: Any = None) -> Any:
        scores = q @ k.mT / math.sqrt(k.size(-2))
        mask = torch.ones_like(scores).bool() if mask is None else mask
        weights = scores.masked_fill(~mask, -1e9).softmax(-1) * mask
        return weights @ v, weights

    assert "loses its dimension" in tried("softmax", no_keepdim).title
    card = tried("scaled-dot-product-attention", by_keys)
    assert card.title == "The scores are divided by the square root of the number of keys, not of d_k."
    assert "Another mistake gives the same result: The scores are divided by the square root of the second" in card.hint
    assert card.hint.count("the same result") == 1


@pytest.mark.parametrize(("alike", "said"), [
    ((), ""),
    (("One.",), " Another mistake gives the same result: One."),
    (("One.", "Two"), " Other mistakes give the same result: One; Two."),
])  # fmt: skip
def test_mistakes_with_one_result_are_listed_once(alike: tuple[str, ...], said: str) -> None:
    """However many they are."""
    assert same_result(alike) == said


def test_an_exception_that_two_mistakes_share_names_both() -> None:
    """Shapes that don't fit say little of the cause: the first alone would be false of the second."""
    right: Any = load_lesson(Course(ROOT), "06_decoder")["decoder"].reference

    class Swapped(right):
        def forward(self, ids: Any, memory: Any, self_mask: Any = None, memory_mask: Any = None) -> Any:
            return super().forward(ids, memory, memory_mask, self_mask)

    title = tried("decoder", Swapped, name="Decoder").title
    assert "Later layers read the decoder's own vectors, not the memory" in title
    assert "The two masks are swapped" in title
    assert "Another mistake gives the same result: " in title


class NoDropoutYet(nn.Module):
    """Attention in heads in which a mask of the batch meets the heads, and dropout is still to be written."""

    def __init__(self, d_model: int, num_heads: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.w_q, self.w_k, self.w_v, self.w_o = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, query: Any, key: Any, value: Any, mask: Any = None) -> tuple[torch.Tensor, torch.Tensor]:
        """Return output and weights."""
        projected = (self.w_q(query), self.w_k(key), self.w_v(value))
        q, k, v = (x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for x in projected)
        output, weights = scaled_dot_product_attention(q, k, v, mask)
        return self.w_o(output.transpose(1, 2).flatten(2)), weights


def test_the_example_shows_the_mistake_that_is_named() -> None:
    """A smaller one that is wrong for another reason, here the missing dropout, would only confuse."""
    card = tried("MultiHeadAttention", NoDropoutYet)
    assert card.title.startswith("The batch dimension of the mask lines up with the heads")
    assert card.example is not None
    assert "mask" in card.example.call
    assert "dropout" not in card.example.call


class DropsItsOutput(NoDropoutYet):
    """Right, but for dropout on the output of the layer."""

    def forward(self, query: Any, key: Any, value: Any, mask: Any = None) -> tuple[torch.Tensor, torch.Tensor]:
        """Return output and weights."""
        mask = mask[:, None] if mask is not None and mask.dim() == 3 else mask
        output, weights = super().forward(query, key, value, mask)
        return output * (not self.training), weights


def test_a_mistake_that_would_spoil_a_right_result_is_not_named() -> None:
    """A layer without w_o loses more than the output of train mode."""
    card = tried("MultiHeadAttention", DropsItsOutput)
    assert card.headline == "3 of 4 examples come out right."
    assert "never used" not in f"{card.title} {card.hint}"


def test_a_mistake_that_one_of_several_wrong_results_looks_like_is_not_claimed() -> None:
    """Features of width 2 are 1 and -1 after every norm, whatever came before it."""
    answer = load_lesson(Course(ROOT), "06_decoder")["decoder-layer"].answer
    wrong = answer.replace("self.norm1(x + self.dropout(attended))", "x + self.norm1(attended)")
    names = BASE | vars(stand_ins) | {"__name__": "__main__"}
    title = tried("DecoderLayer", cell(wrong, "DecoderLayer", **names)).title
    assert title.startswith("This example alone comes out as with a known mistake: ")


def test_an_object_is_checked_by_its_name() -> None:
    """`check(causal_mask)` is `check("causal_mask")`."""

    def causal_mask(size: int) -> torch.Tensor:
        return torch.ones(size, size, dtype=torch.bool).tril()

    assert check(causal_mask, {"causal_mask": causal_mask}).passed
    assert check(causal_mask, {"mine": causal_mask}).title.startswith("`causal_mask` is not defined")


def encoding(base: float = 10000.0, *, refuses: bool = True) -> Callable[[int, int], torch.Tensor]:
    """Return a sinusoidal encoding of another base, which says in words of its own what it refuses."""

    def sinusoidal_encoding(max_len: int, d_model: int) -> torch.Tensor:
        if refuses and d_model % 2:
            raise ValueError("words of the student's own")
        angles = torch.arange(max_len)[:, None] / base ** (torch.arange(0, d_model, 2) / d_model)
        return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :d_model]

    return sinusoidal_encoding


def test_a_mistake_is_named_whatever_the_words_of_an_expected_exception() -> None:
    """The right exception on one example does not hide a wrong base on the others."""
    assert tried("sinusoidal-encoding", encoding()).passed
    card = tried("sinusoidal-encoding", encoding(1000.0))
    assert card.known
    assert "1000" in card.title


def test_a_description_is_of_the_result_that_it_describes() -> None:
    """Nothing is said of the future of a table that has no rows for queries."""
    card = tried("sinusoidal-encoding", lambda rows, width: torch.randn(rows, width))
    assert not card.known
    assert "future" not in card.title


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda x, dim=-1: plain(x, dim)[:1], "has the wrong size in dimension 0"),
        (lambda x, dim=-1: None, "is None; a tensor was expected"),
        (lambda x, dim=-1: plain(x, dim).double(), "is float64; float32 was expected"),
        (lambda x, dim=-1: plain(x, dim) * 0 + 7, "Every number is the same"),
        (lambda y: y.missing, "raised an AttributeError"),
        (lambda x, dim=-1: x.fill_(0), ""),
    ],
)
def test_an_unknown_mistake_is_described(answer: Callable[..., Any], said: str) -> None:
    """The first respect that matters is said: type, shape, dtype, or a property that is broken."""
    card = tried("softmax", answer)
    assert not card.passed
    assert said in card.title


def test_an_exception_is_told_with_the_line_of_the_cell() -> None:
    """As on the feedback page; the cell is what IPython keeps of it."""
    cell, place = "def causal_mask(size):\n    return torch.ones(size).missing\n", "/tmp/ipykernel_1/2.py"
    linecache.cache[place] = (len(cell), None, cell.splitlines(keepends=True), place)
    scope = {"torch": torch}
    exec(compile(cell, place, "exec"), scope)
    title = check("causal-mask", scope).title
    assert "an AttributeError in line 2 of your cell (`return torch.ones(size).missing`)" in title


def test_the_names_of_exercise_and_object_both_work() -> None:
    """`check("causal-mask")` and `check("causal_mask")` are the same."""
    mask = {"causal_mask": lambda size: torch.ones(size, size, dtype=torch.bool).tril()}
    assert check("causal-mask", mask).passed
    assert check("causal_mask", mask).passed


def test_names_are_looked_up_where_it_is_called() -> None:
    """Without a scope, the caller's own names are meant."""
    here = {"check": check, "causal_mask": lambda size: torch.ones(size, size).tril().bool()}
    exec("card = check('causal-mask')", here)
    assert here["card"].passed


@pytest.mark.parametrize("name", ["softmx", "", "no such thing", "softmax"])
def test_what_is_not_there_is_said(name: str) -> None:
    """An unknown name, and an answer that is not defined yet, get a sentence and no exception."""
    card = check(name, {})
    assert not card.passed
    assert card.title


class Hostile:
    """An object for which everything fails."""

    def __call__(self, *_args: Any, **_kwargs: Any) -> Any:
        """Raise an exception that cannot be shown."""
        raise KeyError(self)

    def __repr__(self) -> str:
        raise RuntimeError("no")


@pytest.mark.parametrize("value", [Hostile(), 3, None, nn.Linear, lambda *a, **k: Hostile(), object])
@pytest.mark.parametrize("name", ["softmax", "multi-head-attention", "tokenise", "plot-attention"])
def test_it_never_raises(name: str, value: Any) -> None:
    """Whatever the answer is or returns, there is a card, in both forms."""
    scope = {"softmax": value, "MultiHeadAttention": value, "tokenise": value, "plot_attention": value}
    card = check(name, scope)
    assert not card.passed
    assert card.text
    assert card.html


def test_nothing_else_changes() -> None:
    """Random states, gradient mode, dtype and a module built before are as they were."""
    built = nn.Linear(2, 2).eval()
    random.seed(1)
    torch.manual_seed(1)
    expected = (random.random(), torch.rand(3))
    random.seed(1)
    torch.manual_seed(1)

    def careless(x: torch.Tensor, dim: int = -1) -> torch.Tensor:
        torch.manual_seed(99)
        random.seed(99)
        torch.set_default_dtype(torch.float64)
        torch.set_grad_enabled(False)
        return torch.softmax(x, dim)

    with torch.no_grad():
        tried("softmax", careless)
        assert not torch.is_grad_enabled()
    assert torch.is_grad_enabled()
    assert torch.get_default_dtype() is torch.float32
    assert random.random() == expected[0]
    assert torch.equal(torch.rand(3), expected[1])
    assert not built.training


def test_an_endless_loop_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a few seconds the card says so."""
    monkeypatch.setattr("coursework.instant.notebook.SECONDS", 0.2)

    def endless(size: int) -> None:
        while True:
            pass

    assert "never ends" in tried("causal-mask", endless).title


def test_an_argument_that_was_changed_is_named_where_the_values_agree() -> None:
    """Otherwise yours and expected would look the same, under a card that says wrong."""

    def in_place(x: torch.Tensor, dim: int = -1) -> torch.Tensor:
        x -= x.amax(dim=dim, keepdim=True)
        return torch.exp(x) / torch.exp(x).sum(dim=dim, keepdim=True)

    card = tried("softmax", in_place)
    assert card.example is not None
    assert card.example.yours[-1].rows[0][0].text == "x was changed"
    assert card.example.expected[-1].rows[0][0].text == "x is as it was"


@pytest.mark.parametrize(
    ("got", "shown"),
    [
        (["a", " ", "b", "c", "d"], "'a' ›' '‹ 'b' 'c' 'd'"),
        (["a", "c", "d"], "'a' ›1 missing‹ 'c' 'd'"),
        (["a", "c", "b", "d"], "'a' ›'c'‹ ›'b'‹ 'd'"),
        (["bc", "d"], "›'bc'‹ 'd'"),
    ],
)
def test_one_token_too_many_marks_itself_alone(got: list[str], shown: str) -> None:
    """A list of another length is laid beside the right one; one of the same length goes place by place."""
    (table,) = tables_of(Observation(got), Observation(["a", "b", "c", "d"]))
    (row,) = table.rows
    assert " ".join(f"›{cell.text}‹" if cell.differs else cell.text for cell in row) == shown


def test_of_many_parts_only_those_that_differ_are_shown() -> None:
    """With what they should be; a result of few parts, or one that is all wrong, is shown in full."""
    right = Observation([torch.zeros(2) for _ in range(6)])
    one = Observation([torch.full((2,), float(number == 3)) for number in range(6)])
    mine, wanted = only_differing(tables_of(one, right), tables_of(right))
    assert [table.heading for table in mine] == ["[3]", "the other parts"]
    assert [table.heading for table in wanted] == ["[3]"]
    for result in (Observation(right.value[:4]), Observation([torch.ones(2) for _ in range(6)])):
        whole = tables_of(result, right)
        assert only_differing(whole, tables_of(right))[0] == whole


def test_parts_of_a_result_go_by_their_names_and_facts_are_left_to_the_message() -> None:
    """The numbers are drawn; whether, say, a matrix product made them is not."""
    result = Observation({"output": torch.ones(1, 2, 2), "gradients": [None, torch.ones(2)], "product": True})
    assert [table.heading for table in tables_of(result)] == ["output[0]", "gradients[0]", "gradients[1]"]


def test_numbers_that_do_not_matter_beside_the_others_are_near_zero() -> None:
    """A table of weights is read for its large entries."""
    (table,) = tables_of(Observation(torch.tensor([[0.75, 2e-8, 0.0, -3e-6]])))
    assert [cell.text for cell in table.rows[0]] == ["0.75", "≈0", "0", "≈0"]


def test_large_numbers_are_told_apart() -> None:
    """Whoever checks an example by hand needs their digits."""
    (table,) = tables_of(Observation(torch.tensor([[1000.0, 1001.0, 999.7, -4096.0]])))
    assert [cell.text for cell in table.rows[0]] == ["1000", "1001", "1000", "−4096"]


def test_what_stands_between_backticks_is_set_as_code() -> None:
    """In titles and hints; whatever it holds is escaped."""
    card = Card("f", False, "wrong.", "`x < 0` is dropped", "Print `x`.")
    assert "<code>x &lt; 0</code> is dropped" in card.html
    assert "Print <code>x</code>." in card.html
    assert "`" not in card.html


def test_the_card_is_html_without_scripts_and_escapes_what_it_shows() -> None:
    """Text that an answer returns is shown as text."""
    evil = "<script>alert(1)</script>"
    card = tried("tokenise", lambda text: [evil])
    assert evil not in card.html
    assert "&lt;script&gt;" in card.html
    assert "<script" not in card.html


def test_its_drawings_have_no_style_of_their_own() -> None:
    """The feedback page shows them too, and its policy blocks every style but the page's."""
    drawn = tried("causal-mask", lambda size: torch.ones(size, size).tril(-1).bool()).pictures
    assert drawn.count("<svg") == 2
    assert "style" not in drawn


MINE: Mapping[str, str] = {
    "softmax": "def softmax(x, dim=-1):\n    e = (x - x.amax(dim, keepdim=True)).exp()\n"
    "    return e / e.sum(dim, keepdim=True)\n",
    "attention_scores": "def attention_scores(q, k):\n    return q @ k.mT / k.size(-1) ** 0.5\n",
    "mixed": "def mixed(weights, v):\n    return weights @ v, weights\n",
    "scaled_dot_product_attention": "def scaled_dot_product_attention(q, k, v, mask=None):\n"
    "    scores = attention_scores(q, k)\n"
    "    if mask is None:\n        return mixed(softmax(scores), v)\n"
    "    weights = softmax(scores.masked_fill(~mask, -1e9)).masked_fill(~mask, 0.0)\n"
    "    return mixed(weights, v)\n",
}
NO_ROOT = {"attention_scores": "def attention_scores(q, k):\n    return q @ k.mT / k.size(-1)\n"}


def written(**changed: str) -> dict[str, Any]:
    """Return the names of a notebook in which these cells were run, in the order of the lesson."""
    names: dict[str, Any] = {"torch": torch}
    for name, source in {**MINE, **changed}.items():
        place = f"/tmp/ipykernel_1/{name}{hash(source)}.py"
        linecache.cache[place] = (len(source), None, source.splitlines(keepends=True), place)
        exec(compile(source, place, "exec"), names)
    return names


def test_an_exercise_is_not_blamed_for_an_earlier_one() -> None:
    """It is tried with a right version of what it calls, as in grading; afterwards all is as it was."""
    assert check("scaled_dot_product_attention", written()).passed
    names = written(**NO_ROOT)
    before = dict(names)
    card = check("scaled_dot_product_attention", names)
    assert (card.passed, card.known, card.waits_for) == (False, False, "attention_scores")
    assert card.headline == "right on its examples with a working attention_scores."
    assert card.title.startswith('`check("attention_scores")` fails first: fix that.')
    assert names == before
    assert "divided by d_k" in check("attention_scores", names).title


def test_the_first_of_several_is_named_whatever_it_raises() -> None:
    """Even if it is reached through another cell, and is not written at all."""
    raises = "def softmax(x, dim=-1):\n    raise NotImplementedError\n"
    card = check("scaled_dot_product_attention", written(softmax=raises, **NO_ROOT))
    assert card.waits_for == "softmax"


def test_a_mistake_of_its_own_is_named_all_the_same() -> None:
    """With what comes of it when the earlier exercise is right."""
    source = (
        MINE["scaled_dot_product_attention"].replace("weights @ v", "weights @ q").replace("~mask", "mask")
    )
    card = check("scaled_dot_product_attention", written(scaled_dot_product_attention=source, **NO_ROOT))
    assert card.known
    assert "mask" in card.title
    assert "attention_scores" in card.headline


@pytest.mark.parametrize("name", ["softmx", "", "check", "answers", "attention-shapes", "causal_mask"])
def test_every_card_has_a_heading(name: str) -> None:
    """For a name that is unknown, has no example or is not defined."""
    card = check(name, {})
    assert card.headline
    assert card.text.splitlines()[0].endswith(card.headline)
    assert card.title


def test_an_unknown_name_is_told_as_that() -> None:
    """With the nearest one that there is."""
    card = check("softmx", {})
    assert card.headline == "no such exercise."
    assert card.title.startswith("Did you mean `softmax`?")


@pytest.mark.parametrize(
    "answer",
    [
        lambda ids, table: table[ids],
        lambda ids, table: nn.functional.embedding(ids, table),
        lambda ids, table: table[ids] @ torch.eye(table.size(1)),
    ],
)
def test_rows_that_are_looked_up_are_not_a_matrix_product(answer: Callable[..., Any]) -> None:
    """Grading gives nothing for them, so they are not right here."""
    card = tried("one-hot-embed", answer)
    assert not card.passed
    assert card.title == "The rows are looked up, not computed by a matrix product."


def test_a_matrix_product_is_right() -> None:
    """However it is written."""
    product = "bsv,vd->bsd"

    def embed(ids: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
        return torch.einsum(product, nn.functional.one_hot(ids, len(table)).to(table.dtype), table)

    assert tried("one-hot-embed", embed).passed


@pytest.mark.parametrize(
    ("name", "answer", "lost"),
    [
        ("softmax", lambda x, dim=-1: plain(x.detach(), dim), "x"),
        ("attention-scores", lambda q, k: (q @ k.mT / k.size(-1) ** 0.5).detach(), "q and k"),
        ("attention-scores", lambda q, k: q.detach() @ k.mT / k.size(-1) ** 0.5, "`q`"),
    ],
)
def test_a_lost_gradient_is_told(name: str, answer: Callable[..., Any], lost: str) -> None:
    """Grading takes points for it: the numbers alone are not all."""
    card = tried(name, answer)
    assert not card.passed
    assert f"No gradient reaches {lost}" in card.title


@pytest.mark.parametrize("wrong", ["torch.ones(d_model)", "torch.ones(d_model, requires_grad=True)"])
def test_a_weight_that_is_no_parameter_is_told(wrong: str) -> None:
    """Its numbers are right on every example, and grading takes points for it."""
    source = f"""class RMSNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.eps, self.weight = eps, {wrong}
    def forward(self, x):
        return x / (x.pow(2).mean(-1, keepdim=True) + self.eps).sqrt() * self.weight
"""
    card = tried("rms-norm", cell(source, "RMSNorm", nn=nn), name="RMSNorm")
    assert not card.passed
    assert card.title.startswith("`weight` is not a parameter that can be trained")
    again = cell(source.replace("self.eps)", "eps)"), "RMSNorm", nn=nn)
    card = tried("rms-norm", again, name="RMSNorm")
    assert card.title.startswith("`weight` is not a parameter that can be trained")
    assert "NameError" in card.text
    assert "The exception was raised in line 6." in card.text


def test_layers_in_a_plain_list_are_told() -> None:
    """By name, also where the layers' dropout stays on in eval mode."""
    (exercise,) = (each for each in exercises_of("05_encoder") if each.id == "encoder")
    assert "nn.ModuleList(" in exercise.stand_in
    scope = dict(BASE)
    source = exercise.stand_in.replace("nn.ModuleList(", "list(")
    exec(compile(source, "", "exec", __future__.annotations.compiler_flag), scope)
    card = check("encoder", scope)
    assert "plain list" in card.title
    assert "containers" in card.hint


TWICE = """class Encoder(nn.Module):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, max_len=512, dropout=0.1):
        super().__init__()
        self.embedding = TokenEmbedding(vocab_size, d_model)
        self.position = PositionalEncoding(d_model, max_len, dropout)
        self.layers = LIST(EncoderLayer(d_model, num_heads, d_ff, dropout) for _ in range(num_layers))
    def forward(self, ids, mask=None):
        x = self.embedding(ids)
        x = x + self.position(x)
        for layer in self.layers:
            x = layer(x, mask)
        return x if self.training else FACTOR * x
"""


@pytest.mark.parametrize(
    ("changes", "title", "hint"),
    [
        (("list", "1.5"), "plain list", "registers"),
        (("nn.ModuleList", "1.0"), "The token vectors are added twice", ""),
        (("nn.ModuleList", "1.5"), "", "nother mistake gives the same result: "),
    ],
)
def test_one_result_among_others_does_not_settle_which_mistake_it_is(
    changes: tuple[str, str], title: str, hint: str
) -> None:
    """What else gives it is told, and what PyTorch doesn't see comes first."""
    names = {"TokenEmbedding": TokenEmbedding, "PositionalEncoding": PositionalEncoding, "EncoderLayer": EncoderLayer}
    source = TWICE.replace("LIST", changes[0]).replace("FACTOR", changes[1])
    card = check("encoder", {**names, "Encoder": cell(source, "Encoder", nn=nn, **names)})
    assert title in card.title
    assert hint in card.hint


@pytest.mark.parametrize(("result", "told"), [("ids[0]", "dimension"), ("ids.tolist()", "a list; a tensor was expected")])
def test_ids_of_another_form_are_told_as_ids(result: str, told: str) -> None:
    """What the check notes besides them is nothing that a student returns."""
    source = f"""@torch.no_grad()
def greedy_decode(model, src, max_len, sos_id=1, eos_id=2):
    ids = torch.full((len(src), 1), sos_id)
    memory = model.eval().encode(src)
    for _ in range(max_len):
        ids = torch.cat([ids, model.decode(ids, memory, src)[:, -1:].argmax(-1)], dim=1)
    return {result}
"""
    title = tried("greedy-decode", cell(source, "greedy_decode")).title
    assert told in title
    assert "dictionary was expected" not in title


def test_ids_of_another_shape_are_told_as_that() -> None:
    """Tokens in a column of their own are what `torch.multinomial` gives."""

    def in_a_column(logits: Any, temperature: Any = 1.0, top_k: Any = None, top_p: Any = None, generator: Any = None) -> Any:
        return torch.multinomial(logits.softmax(-1), 1, generator=generator)

    card = tried("sample-next", in_a_column)
    assert "TypeError" not in card.text
    assert "shape" in card.text


def test_a_misspelt_constructor_is_told() -> None:
    """Python says that nn.Module's own takes no such argument."""
    source = TWICE.replace("__init__(self, vocab", "_init_(self, vocab")
    told = tried("encoder", cell(source, "Encoder", nn=nn), name="Encoder").title
    assert "The class of your cell has no `__init__`. Is it spelt with two underscores on each side?" in told


@pytest.mark.parametrize("exercise", ["sinusoidal-encoding", "language-windows", "rotary", "encode", "greedy-decode"])
def test_a_missing_return_is_told_as_that(exercise: str) -> None:
    """It looks like the loss of an exception that is expected, or of an empty result."""
    assert "return" in tried(exercise, lambda *_, **__: None).title


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ("check('softmax', 'causal-mask')", "takes one exercise at a time"),
        ("check('softmax', True)", "takes one exercise at a time"),
        ("check(softmax(torch.zeros(3)))", "takes an exercise, not a Tensor"),
        ("check(2)", "takes an exercise, not an int"),
    ],
)
def test_another_way_to_call_it_is_explained(call: str, told: str) -> None:
    """It is no failure of the check, and no misspelt exercise."""
    here: dict[str, Any] = {"check": check, "softmax": torch.sigmoid, "torch": torch}
    exec(f"card = {call}", here)
    assert told in here["card"].title


ONE_LAYER = """class SelfAttentionHead(nn.Module):
    def __init__(self, d_model, d_k=None):
        super().__init__()
        self.w_q = nn.Linear(d_model, d_k or d_model)
        self.w_k = self.w_q
        self.w_v = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        return scaled_dot_product_attention(self.w_q(x), self.w_k(x), self.w_v(x), mask)[0]
"""
ONE_PARAMETER = """class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = self.bias = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        centred = x - x.mean(-1, keepdim=True)
        spread = (centred.square().mean(-1, keepdim=True) + self.eps).sqrt()
        return centred / spread * self.weight + self.bias
"""


@pytest.mark.parametrize(
    ("exercise", "name", "source", "parts"),
    [
        ("self-attention-head", "SelfAttentionHead", ONE_LAYER, "`w_q` and `w_k`"),
        ("layer-norm", "LayerNorm", ONE_PARAMETER, "`weight` and `bias`"),
    ],
)
def test_one_object_under_two_names_is_told_as_that(exercise: str, name: str, source: str, parts: str) -> None:
    """Its results are those of other mistakes too; which it is, the module itself says: a layer, or a parameter."""
    card = check(exercise, written(nothing="from torch import nn\n", **{name: source}))
    assert card.title == f"{parts} are one object, so they always hold the same numbers."


def test_a_constructor_without_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing builds it again once an example ran out of time."""
    monkeypatch.setattr(notebook_module, "SECONDS", 0.3)
    source = (
        "class FeedForward(nn.Module):\n    def __init__(self, d_model, d_ff, dropout=0.1):\n"
        "        super().__init__()\n        while True:\n            pass\n"
    )
    card = check("feed-forward", written(nothing="from torch import nn\n", FeedForward=source))
    assert not card.passed


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("    positions = torch.arrange(max_len)\n", "The module has no `arrange`."),
        ("    torch.zeros(max_len, d_model)[:, 0::2] + torch.zeros(max_len, d_model // 2)\n", "Is there a `return`?"),
    ],
)
def test_what_fails_everywhere_is_told_before_a_missing_exception(body: str, told: str) -> None:
    """An answer that is not finished refuses nothing either, but that is not what to mend first."""
    source = f"def sinusoidal_encoding(max_len, d_model):\n{body}"
    title = tried("sinusoidal-encoding", cell(source, "sinusoidal_encoding")).title
    assert told in title
    assert "ValueError" not in title


NORM = """class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        {init}
    def forward(self, x):
        return {result}
"""
OWN = "self.weight, self.bias = nn.Parameter(torch.ones(d_model)), nn.Parameter(torch.zeros(d_model))"


@pytest.mark.parametrize(
    ("init", "result", "told"),
    [
        (OWN, "F.instance_norm(x) * self.weight + self.bias", "F.instance_norm"),
        (OWN, "nn.LayerNorm(x.size(-1))(x) * self.weight + self.bias", "nn.LayerNorm"),
        (OWN, "F.layer_norm(x, x.shape[-1:], self.weight, self.bias)", "F.layer_norm"),
        ("self.norm = nn.LayerNorm(d_model)", "self.norm(x)", "nn.LayerNorm"),
    ],
)
def test_what_is_excluded_is_called_as_in_the_cell(init: str, result: str, told: str) -> None:
    """Others end in the same kernel; and a part that is excluded is told where its weights are missed."""
    source = NORM.format(init=init, result=result)
    card = tried("layer-norm", cell(source, "LayerNorm", nn=nn, F=nn.functional), name="LayerNorm")
    assert "no points" in card.headline
    assert card.title.startswith(f"`{told}` is excluded in this exercise.")


FINISHED = """class EncoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.self_attention = nn.MultiheadAttention(d_model, num_heads, batch_first=True)
        self.feed_forward = FeedForward(d_model, d_ff, dropout)
        self.norm1, self.norm2 = LayerNorm(d_model), LayerNorm(d_model)
    def forward(self, x, mask=None):
        x = self.norm1(x + self.self_attention(x, x, x)[0])
        return self.norm2(x + self.feed_forward(x))
"""


def test_a_finished_attention_is_told_though_its_weights_have_other_names() -> None:
    """As in grading, which gives no points for it: none of its attributes is missing."""
    names = {"nn": nn, "FeedForward": FeedForward, "LayerNorm": LayerNorm}
    answer = cell(FINISHED, "EncoderLayer", **names)
    card = check("encoder-layer", {"EncoderLayer": answer, "torch": torch, **names})
    assert "no points" in card.headline
    assert card.title.startswith("`nn.MultiheadAttention` is excluded in this exercise.")
