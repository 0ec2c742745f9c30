"""The loop around training is reproducible, and goes on where it was."""

from pathlib import Path

import pytest
import torch
from torch import nn

from coursework import language, tasks, training


def made() -> tuple[nn.Module, torch.optim.Optimizer]:
    """Return a small model with dropout, and its optimiser."""
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.5), nn.Linear(8, 1))
    return model, torch.optim.Adam(model.parameters(), lr=0.01)


def run(steps: int, checkpoint: Path | None = None) -> list[float]:
    """Train that model for some steps."""
    model, optimiser = made()

    def step(x: torch.Tensor) -> float:
        loss = model(x).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        return float(loss)

    draw = lambda generator: (torch.randn(4, 3, generator=generator),)  # noqa: E731 - a line says it
    return training.train(model, optimiser, step, draw, steps, rate=lambda n: 0.1 / n, checkpoint=checkpoint)


def test_a_run_that_was_interrupted_is_the_run_that_was_not(tmp_path: Path) -> None:
    """Four steps, and then six more from the checkpoint, are ten steps; dropout included."""
    whole = run(10)
    first = run(4, tmp_path / "run.pt")
    assert run(10, tmp_path / "run.pt") == whole
    assert first == whole[:4]
    assert len(set(whole)) == 10


def test_an_interrupt_keeps_what_was_done(tmp_path: Path) -> None:
    """Ctrl-C ends the run, not the session, and the steps so far are saved."""
    model, optimiser = made()
    calls: list[int] = []

    def step(_x: torch.Tensor) -> float:
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return 1.0

    path = tmp_path / "run.pt"
    losses = training.train(model, optimiser, step, lambda _: (torch.zeros(1, 3),), 9, checkpoint=path)
    assert losses == [1.0, 1.0]
    assert training.resume(model, optimiser, path) == [1.0, 1.0]


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0, "zero"), (13, "thirteen"), (40, "forty"), (407, "four hundred and seven"),
        (1000, "one thousand"), (6044, "six thousand and forty four"),
        (9999, "nine thousand nine hundred and ninety nine"),
    ],
)  # fmt: skip
def test_numbers_are_written_in_words(number: int, words: str) -> None:
    """British: an "and" before what is below a hundred."""
    assert " ".join(tasks.in_words(number)) == words


def test_numbers_for_testing_are_never_learnt() -> None:
    """The two parts are all numbers, and share none."""
    learn, test = tasks.numbers()
    assert len(learn) == 9000
    assert sorted([*learn.tolist(), *test.tolist()]) == list(range(10000))


def test_a_text_is_cut_before_it_is_counted() -> None:
    """What occurs only in the test part is unknown, and a uniform text has the perplexity it should."""
    words = language.prepare("a b " * 50 + "zebra " * 11, max_size=50, share=0.9)
    assert "zebra" not in words.vocabulary
    assert words.text(words.ids("a b").tolist()) == "a b"
    flat = nn.Embedding(7, 7)
    nn.init.zeros_(flat.weight)
    ids = torch.randint(4, 7, (3, 5))
    assert language.perplexity(flat, ids, ids) == pytest.approx(7)
