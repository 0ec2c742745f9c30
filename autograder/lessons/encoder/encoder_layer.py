from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
import torch.nn.functional as F

from autograder.judge import dropout, explain, masks, modules, weights
from autograder.judge.table import (
    FINISHED_ATTENTION, CallModule, Check, Comparison, Draw, ExerciseChecks, Operation, arguments, defaults,
    example, gradients_match, matches_reference, module, module_learns_too, near, properties,
)
from coursework import stand_ins_models

LAST = explain.ends_in_norm("norm2")


def _layer(d: Draw, init: list[Any], *calls: Sequence[Any], train: bool = False) -> CallModule:
    """Ask for calls of a layer; `init` is d_model, num_heads, d_ff and, if it is given, dropout."""
    d_model, _, d_ff, *_ = init
    return module(init, weights.layer(d, "", d_model, d_ff), *calls, train=train)


def _what_is_left(seen: Comparison) -> str | None:
    got, x = seen.got.value, seen.inputs["calls"][0][0]
    one, two = (_normed(seen, path, x) for path in ("norm1", "norm2"))
    forms = {
        "zeros come out. Apply dropout before you add a sublayer's output to x.": torch.zeros_like(x),
        "every token comes out alike. Is x dropped, or never added?": got[:1, :1].expand_as(got),
        "x itself comes out. Where are the norms applied?": x,
        "norm1(x) comes out. Is norm2 the last step?": one,
        "norm2(x) comes out. Is norm1 applied, and its result used?": two,
        "norm1(norm2(x)) comes out. Which norm belongs to which sublayer?": _normed(seen, "norm1", two),
    }
    came = next((text for text, form in forms.items() if near(got, form)), "something else comes out.")
    return f"The sublayers' outputs are zero or dropped here, which leaves norm2(norm1(x)), but {came}"


def _normed(seen: Comparison, path: str, value: torch.Tensor) -> torch.Tensor:
    weight, bias = (seen.inputs["weights"][f"{path}.{part}"] for part in ("weight", "bias"))
    return F.layer_norm(value, value.shape[-1:], weight, bias)


def _padding_leaks(seen: Comparison) -> str | None:
    before, after = explain.outputs(seen)
    real = seen.inputs["calls"][0][1][:, 0]
    changed = ((before - after).abs().amax(-1) > 1e-4) & real
    if not changed.any():
        return None
    sample, token = changed.nonzero()[0].tolist()
    return (
        f"Token {token} of sample {sample} depends on the padding, although the mask hides it. "
        "Does the mask reach the attention?"
    )


def _one_token_changed(d: Draw) -> Operation:
    x = d.normal(2, 5, 8)
    asked = _layer(d, [8, 2, 12, 0.0], [x])
    return modules.changed_positions(asked, 0, masks.at(3), x[:, 3] + d.normal(2, 8, scale=2))


def _other_padding(d: Draw) -> Operation:
    """Ask for two calls that differ only in what the mask hides."""
    mask, first = masks.padding([6, 2, 4]), d.normal(3, 6, 8)
    second = torch.where(mask.mT, first, d.normal(3, 6, 8))
    return _layer(d, [8, 2, 7], [first, mask], [second, mask])


def _silenced(d: Draw, *sublayers: str) -> Operation:
    asked = _layer(d, [6, 2, 9], [d.normal(3, 5, 6)])
    return replace(asked, weights=weights.silenced({**asked.weights}, *sublayers))


def _drops_sublayers(d: Draw) -> Operation:
    """Ask for a call that drops nearly all; values are 0, so dropped attention weights cannot show."""
    asked = _layer(d, [6, 2, 9, dropout.NEARLY_ALL], [d.normal(2, 5, 6)], train=True)
    return replace(asked, weights=weights.zeroed({**asked.weights}, "w_v."))


exercise = ExerciseChecks(reference=stand_ins_models.EncoderLayer, excludes=FINISHED_ATTENTION,
    judge=matches_reference(LAST),
    examples=[
        example(lambda d: _layer(d, [4, 2, 6], [d.normal(1, 3, 4)])),
        example(lambda d: _layer(d, [3, 1, 4], [d.normal(2, 3, 3), masks.padding([1, 3])])),
        example(lambda d: _layer(d, [4, 4, 5], [d.normal(1, 2, 4), masks.causal(2)])),
        example(lambda d: _layer(d, [3, 1, 4, dropout.NEARLY_ALL], [d.normal(1, 2, 3)], train=True)),
    ], checks=[
    module_learns_too((3, 5, 6), Check("formula", "attention, add and norm, feed-forward, add and norm",
          lambda d: _layer(d, [6, 2, 9], [d.normal(3, 5, 6)]), weight=2), ["x"]),
    module_learns_too((2, 4, 8),
    Check("other-sizes", "another number of heads, and a feed-forward network narrower than d_model",
          lambda d: _layer(d, [8, 4, 5], [d.normal(2, 4, 8)])), ["x"]),
    Check("everyone", "every token can attend to every token", _one_token_changed,
          explain.positions_change("token 3 changes"), 0.5),
    Check("alone", "a sample gives the same result alone and in a batch",
          lambda d: modules.alone_twice(_layer(d, [6, 3, 8], [d.normal(3, 5, 6)])),
          matches_reference(explain.samples_mix, LAST)),
    Check("nothing-added", "if both sublayers return zeros, norm2(norm1(x)) remains",
          lambda d: _silenced(d, "self_attention", "feed_forward"), matches_reference(_what_is_left)),
    Check("only-feed-forward", "the feed-forward network reads the output of norm1, and is added to it",
          lambda d: _silenced(d, "self_attention")),
    Check("only-attention", "the attention reads x itself, and is added to x",
          lambda d: _silenced(d, "feed_forward")),
    Check("padding", "each sample's padding is ignored", _other_padding,
          matches_reference(_padding_leaks, LAST), 2),
    module_learns_too((2, 5, 8),
    Check("square-masks", "a mask (S, S) for all samples, and one (B, S, S) for each",
          lambda d: _layer(d, [8, 4, 7], *([d.normal(2, 5, 8), mask]
                                           for mask in (d.mask(5, 5), d.mask(2, 5, 5))))), ["x"]),
    Check("batch-equals-heads", "as many samples as heads: each sample has its own mask, for this call",
          lambda d: _layer(d, [6, 3, 7], [d.normal(3, 5, 6), masks.padding([5, 2, 3])], [d.normal(3, 5, 6)]),
          weight=0.5),
    Check("dropout-off", "in eval mode, nothing is dropped",
          lambda d: _layer(d, [6, 2, 9, dropout.NEARLY_ALL], [d.normal(2, 5, 6)]), dropout.nothing_dropped),
    Check("dropout-none", "with dropout 0, nothing is dropped in train mode",
          lambda d: _layer(d, [8, 2, 12, 0.0], [d.normal(3, 7, 8)], train=True),
          dropout.nothing_dropped, 0.5),
    Check("dropout-places", "dropout drops single features, and nothing besides what the exercise says",
          lambda _: dropout.layer_places(["self_attention"]), dropout.in_place, 0.5),
    Check("dropout-on", "in train mode, the sublayers' outputs are dropped before they are added: "
          "with nearly all dropped, norm2(norm1(x)) remains",
          _drops_sublayers, matches_reference(_what_is_left)),
    Check("dropout-inside", "the layer's dropout reaches its feed-forward network",
          lambda d: replace(_layer(d, [6, 2, 9, dropout.NEARLY_ALL], [d.normal(2, 5, 6)], train=True),
                            parts=["feed_forward"]),
          explain.fact("With dropout near 1, `feed_forward` alone should return only the bias of its "
                       "`linear2` in train mode. Is it built with the layer's dropout?"), 0.5),
    Check("single", "a sentence of a single token",
          lambda d: _layer(d, [6, 1, 8], [d.normal(2, 1, 6)]), weight=0.5),
    Check("learns", "gradients reach every parameter, and x",
          lambda d: modules.gradients(_layer(d, [6, 2, 9, 0.0], [d.normal(2, 5, 6)]), d.normal(2, 5, 6),
                                      of_arguments=True, registration=True, one_output=True),
          gradients_match(["x"])),
    arguments(lambda d: _layer(d, [6, 2, 9], [d.normal(2, 5, 6), masks.padding([5, 3])]),
              LAST, names=["x", "mask"], weight=1),
    *properties(lambda d: _layer(d, [6, 2, 9], [d.normal(2, 5, 6), d.mask(2, 5, 5)]),
                sizes=lambda d: [_layer(d, [2, 1, 1], [d.normal(1, 1, 2)]),
                                 _layer(d, [48, 8, 90],
                                        [d.normal(12, 50, 48), masks.padding(range(39, 51))])]),
    defaults(lambda d: [_layer(d, [6, 2, 9], [d.normal(2, 5, 6)], train=True)], dropout=(0.1, 0.5)),
])
