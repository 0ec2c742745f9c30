"""What a lesson imports: plots, data, stand-ins and loaders. Students have all of it."""

import sys
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from coursework.attention_views import head_view, model_view
    from coursework.instant.hand_in import hand_in
    from coursework.instant.notebook import check
    from coursework.instant.skip import skip

__all__ = ["check", "hand_in", "head_view", "model_view", "skip"]
HOMES = {
    "check": "instant.notebook", "hand_in": "instant.hand_in", "skip": "instant.skip",
    "head_view": "attention_views", "model_view": "attention_views",
}  # fmt: skip


def __getattr__(name: str) -> object:
    """Import a function when it is first asked for: most lessons do without the views."""
    if name == "check" and "IPython" in sys.modules:
        import_module("coursework.instant.notebook").watch_cells()
    if name in HOMES:
        return getattr(import_module(f"coursework.{HOMES[name]}"), name)
    raise AttributeError(f"module 'coursework' has no attribute '{name}'")
