"""Which parts a lesson begins with, and which lesson each part comes from."""

import sys
from collections.abc import Mapping
from functools import cache
from typing import Final

from coursework import stand_ins, stand_ins_models, stand_ins_modern

ORIGIN: Final[Mapping[str, str]] = {
    "TokenEmbedding": "01_embeddings",
    "PositionalEncoding": "02_positional_encoding",
    "scaled_dot_product_attention": "03_attention",
    "padding_mask": "03_attention",
    "causal_mask": "03_attention",
    "MultiHeadAttention": "04_multi_head_attention",
    "LayerNorm": "05_encoder",
    "FeedForward": "05_encoder",
    "Encoder": "05_encoder",
    "Decoder": "06_decoder",
    "CausalDecoderLayer": "06_decoder",
    "target_mask": "06_decoder",
    "shift_right": "06_decoder",
    "Transformer": "07_transformer",
    "rotary": "02_positional_encoding",
    "GatedFeedForward": "05_encoder",
    "sample_next": "07_transformer",
}

_FIFTH: Final = ("MultiHeadAttention", "TokenEmbedding", "PositionalEncoding", "padding_mask")
_SIXTH: Final = (*_FIFTH, "LayerNorm", "FeedForward", "causal_mask")
_MODELS: Final = ("Encoder", "Decoder", "CausalDecoderLayer", "target_mask", "shift_right")
NEEDS: Final[Mapping[str, tuple[str, ...]]] = {
    "04_multi_head_attention": ("scaled_dot_product_attention",),
    "05_encoder": _FIFTH,
    "06_decoder": _SIXTH,
    "07_transformer": (*_SIXTH, *_MODELS),
    "08_attention_visualisation": (*_SIXTH, *_MODELS, "Transformer"),
    "09_modern_llm": ("scaled_dot_product_attention", "rotary", "GatedFeedForward", "sample_next"),
}


HOMES: Final = (stand_ins_modern, stand_ins_models, stand_ins)


def stand_in(name: str) -> object:
    """Return the stand-in for a part."""
    home = next(home for home in HOMES if hasattr(home, name))
    found: object = getattr(home, name)
    return found


@cache
def keep_handed_out(lesson: str) -> None:
    """Delete the stand-ins that a lesson does not hand out, wherever a module of ours holds them.

    For the sandbox, where an answer is not to be taken from them. There is no way back in this process.
    """
    handed_out = {name for names in wanted(lesson).values() for name in names}
    kept = [vars(home).get(name) for home in HOMES for name in handed_out]
    places = {home.__name__ for home in HOMES}
    if any(part is not None and part.__module__ == stand_ins_models.__name__ for part in kept):
        places -= {stand_ins_models.__name__}  # a model comes with the layers that it is made of
    for module in [each for name, each in sys.modules.items() if name.startswith("coursework.")]:
        for name, value in list(vars(module).items()):
            own = name in ORIGIN or (isinstance(value, type) and value.__module__ in places)
            ours = getattr(value, "__module__", "") in {home.__name__ for home in HOMES}
            if own and ours and all(value is not part for part in kept):
                delattr(module, name)


def wanted(lesson: str) -> dict[str, list[str]]:
    """Return, by lesson and in their order, the parts that `lesson` rests on, however indirectly.

    Lesson 5 begins with the attention of lesson 4, which calls that of lesson 3.
    """
    parts: dict[str, list[str]] = {}
    open_lessons = [lesson]
    while open_lessons:
        for name in NEEDS.get(open_lessons.pop(), ()):
            known = parts.setdefault(ORIGIN[name], [])
            if not known:
                open_lessons.append(ORIGIN[name])
            if name not in known:
                known.append(name)
    return dict(sorted(parts.items()))
