"""What a lesson imports: plots, data, stand-ins and loaders. Students have all of it."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from coursework.attention_views import head_view, model_view

__all__ = ["head_view", "model_view"]


def __getattr__(name: str) -> object:
    """Import the views when they are first asked for: most lessons do without them."""
    if name in __all__:
        from coursework import attention_views

        return getattr(attention_views, name)
    raise AttributeError(f"module 'coursework' has no attribute '{name}'")
