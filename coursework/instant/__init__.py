"""The instant check: tries a student's answer on public examples and shows a card, offline."""

from coursework.instant.hand_in import hand_in
from coursework.instant.notebook import check
from coursework.instant.skip import skip

__all__ = ["check", "hand_in", "skip"]
