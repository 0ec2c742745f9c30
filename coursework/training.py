"""A loop around a training step: seeded, shows its progress, can be interrupted and gone on with."""

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from torch import Tensor, nn
from tqdm import tqdm

from coursework.console import say

Batch = tuple[Tensor, ...]
SAVE_EVERY = 200
SMALL = 2_000_000
PRIME = 1_000_003  # keeps the seeds of different runs apart


def device() -> torch.device:
    """Return the fastest device at hand: CUDA, Apple's MPS, or the processor."""
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")


def train(
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    step: Callable[..., float],
    draw: Callable[[torch.Generator], Batch],
    steps: int,
    *,
    rate: Callable[[int], float] | None = None,
    seed: int = 0,
    checkpoint: str | Path | None = None,
    title: str | None = None,
) -> list[float]:
    """Take `steps` steps and return the loss of each.

    `step(*batch)` makes one update; `draw(generator)` makes a batch; `rate(number)` gives the
    learning rate of a step, counted from 1; `title` stands before the progress bar. Each step is
    seeded by its number, so that a run that goes on from its checkpoint is the run that was never
    interrupted.
    """
    losses = resume(model, optimiser, checkpoint)
    done = len(losses)
    bar = tqdm(
        range(done, steps), desc=title, initial=done, total=steps, mininterval=1.0, ncols=80, file=sys.stdout
    )
    where = next(model.parameters()).device
    with _threads(model):
        try:
            for number in bar:
                torch.manual_seed(seed * PRIME + number)  # for dropout
                batch = draw(torch.Generator().manual_seed(seed * PRIME + number))
                if rate is not None:
                    for group in optimiser.param_groups:
                        group["lr"] = rate(number + 1)
                with where:  # masks that are made on the way are made there as well
                    losses.append(step(*(part.to(where) for part in batch)))
                if checkpoint and number % SAVE_EVERY == SAVE_EVERY - 1:
                    save(model, optimiser, losses, checkpoint)
                if number % 50 == 49:
                    bar.set_postfix_str(f"loss {sum(losses[-50:]) / 50:.3f}")
        except KeyboardInterrupt:
            bar.close()
            again = "with a checkpoint, run the cell again to go on"
            say(f"Interrupted after {len(losses)} steps; {again}.")
        if checkpoint:
            save(model, optimiser, losses, checkpoint)
    return losses


@contextlib.contextmanager
def _threads(model: nn.Module) -> Iterator[None]:
    """Use one thread for a small model: a second one would spend its time waiting for the first."""
    before = torch.get_num_threads()
    small = sum(parameter.numel() for parameter in model.parameters()) < SMALL
    torch.set_num_threads(1 if small else before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def save(model: nn.Module, optimiser: torch.optim.Optimizer, losses: list[float], path: str | Path) -> None:
    """Write weights, the optimiser's state and the losses so far; never half a file."""
    state = {"model": model.state_dict(), "optimiser": optimiser.state_dict(), "losses": losses}
    partial = Path(f"{path}.part")
    torch.save(state, partial)
    partial.replace(path)


def resume(model: nn.Module, optimiser: torch.optim.Optimizer, path: str | Path | None) -> list[float]:
    """Load a checkpoint, if there is one, and return its losses; plain tensors only are read."""
    if path is None or not Path(path).is_file():
        return []
    state = torch.load(path, weights_only=True, map_location=next(model.parameters()).device)
    model.load_state_dict(state["model"])
    optimiser.load_state_dict(state["optimiser"])
    losses: list[float] = state["losses"]
    return losses
