"""Draws the inputs of a check from a key that no submission knows."""

import hmac
from collections.abc import Sequence

import torch

PUBLIC_KEY = b"examples that everyone may see"


class Draw:
    """A source of random tensors. The same key and labels always draw the same.

    `seed` is for the random state of the student's process, and tells nothing about the inputs.
    """

    def __init__(self, key: bytes, *labels: str) -> None:
        digest = hmac.digest(key, "/".join(labels).encode(), "sha256")
        self._generator = torch.Generator().manual_seed(int.from_bytes(digest[:6], "big"))
        self.seed = int.from_bytes(digest[6:12], "big")

    def normal(self, *shape: int, scale: float = 1.0) -> torch.Tensor:
        """Return float32 normal values of the given shape and standard deviation."""
        return torch.randn(*shape, generator=self._generator) * scale

    def integers(self, low: int, high: int, *shape: int) -> torch.Tensor:
        """Return int64 values in [low, high)."""
        return torch.randint(low, high, shape, generator=self._generator)

    def integer(self, low: int, high: int) -> int:
        """Return one int in [low, high)."""
        return int(self.integers(low, high))

    def different(self, count: int, low: int, high: int) -> list[int]:
        """Return `count` sizes in [low, high), no two alike."""
        return (torch.randperm(high - low, generator=self._generator)[:count] + low).tolist()

    def sampled(self, options: Sequence[str], count: int) -> list[str]:
        """Return `count` of the options; one may be drawn several times."""
        return [options[i] for i in self.integers(0, len(options), count).tolist()]

    def shuffled(self, tokens: Sequence[str]) -> list[str]:
        """Return the tokens in a random order."""
        return [tokens[i] for i in self.different(len(tokens), 0, len(tokens))]

    def mask(self, *shape: int, share: float = 0.6) -> torch.Tensor:
        """Return a random boolean mask, True with probability `share`, every row with a True."""
        mask = torch.rand(*shape, generator=self._generator) < share
        choice = self.integers(0, shape[-1], *shape[:-1], 1)
        return mask.scatter(-1, choice, torch.ones_like(choice, dtype=torch.bool))

    def linear(self, name: str, width_in: int, width_out: int) -> dict[str, torch.Tensor]:
        """Return weight (width_out, width_in) and bias (width_out,) of a Linear called `name`."""
        return {
            f"{name}.weight": self.normal(width_out, width_in, scale=width_in**-0.5),
            f"{name}.bias": self.normal(width_out, scale=0.5),
        }


class PublicDraw(Draw):
    """Draws the inputs of public examples: numbers that can be followed by hand."""

    def __init__(self, *labels: str) -> None:
        super().__init__(PUBLIC_KEY, *labels)

    def normal(self, *shape: int, scale: float = 1.0) -> torch.Tensor:
        """Return normal values rounded to one decimal, none of them 0."""
        values = (super().normal(*shape, scale=scale) * 10).round() / 10
        return torch.where(values == 0, 0.1, values)
