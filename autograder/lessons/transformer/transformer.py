from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
import torch.nn.functional as F

from autograder.judge import masks, modules, weights
from autograder.judge.table import (
    FINISHED_ATTENTION, NEARLY_ALL, CallModule, Check, Comparison, Draw, ExerciseChecks, Operation,
    ReadState, Verdict, are_probabilities, arguments, example, facts, failed, gradients_match,
    matches_reference, module, module_learns_too, near, positions_change, properties,
)
from autograder.lessons.transformer.fixtures import WIDTH, WORDS, PassParts
from coursework import stand_ins_models
from coursework.engine.compare import same_form

SOURCE, TARGET = 11, 13  # vocabulary sizes
SIZES = [SOURCE, TARGET, 8, 4, 2, 12]  # then d_model, heads, layers, d_ff
SMALL = [9, 10, 4, 2, 1, 6]
DEFAULTS = ["d_model", "num_heads", "num_layers", "d_ff", "max_len", "dropout", "pad_id"]
STARTS = {
    "too wide": "spreads too widely", "too narrow": "spreads too little", "not uniform": "is not uniform",
}
PARTS = {
    "encoder in use": "The encoder that was passed in is not the one in use.",
    "decoder in use": "The decoder that was passed in is not the one in use.",
    "encoder untouched": "The weights of the encoder that was passed in were changed.",
    "decoder untouched": "The weights of the decoder that was passed in were changed.",
    "encoder start": "The encoder that is built beside a decoder isn't initialised Xavier-uniform.",
    "decoder start": "The decoder that is built beside an encoder isn't initialised Xavier-uniform.",
}


@dataclass(frozen=True)
class MatrixStarts(ReadState):
    """Build the class and tell how the matrix at each of `paths` was initialised.

    It is "Xavier-uniform" (Glorot and Bengio 2010, equation 16), or the first way in which it is not.
    """

    sent_as: ClassVar = ReadState

    def read(self, value: Any) -> dict[str, str]:
        """Look at each matrix."""
        return {path: _start(value[path]) for path in self.paths}


def _start(matrix: torch.Tensor) -> str:
    bound = (6 / sum(matrix.shape)) ** 0.5
    values = matrix[1:]  # row 0 of an embedding is <pad>
    spread = float(values.std()) / (bound / 3**0.5)
    if not 0.8 <= spread <= 1.2:
        return "too wide" if spread > 1.2 else "too narrow"
    largest = float(values.abs().max()) / bound
    return "Xavier-uniform" if 0.9 < largest < 1 + 1e-4 else "not uniform"


@dataclass(frozen=True)
class CallWithPadding(CallModule):
    """Call a module; `real` holds a mask (B, L) for each call, or None.

    Outputs where it is False are blanked, because nobody relies on what padding comes to.
    """

    real: Sequence[torch.Tensor | None] = ()

    sent_as: ClassVar = CallModule

    def read(self, value: Any) -> Any:
        """Blank padding in outputs of the right form."""
        if len(self.calls) == 1:
            return _blanked(value, *self.real)
        if not isinstance(value, list) or len(value) != len(self.real):
            return value
        return [_blanked(*pair) for pair in zip(value, self.real, strict=True)]


def _blanked(result: Any, real: torch.Tensor | None) -> Any:
    fits = isinstance(result, torch.Tensor) and real is not None and result.dim() == 3
    if fits and real is not None and result.shape[:2] == real.shape:
        return result.masked_fill(~real[..., None], 0.0)
    return result


def _padded_samples_wrong(seen: Comparison) -> str | None:
    pad_id = seen.inputs["init_kwargs"].get("pad_id", 0)
    ids = [arg for arg in seen.inputs["calls"][0] if not arg.is_floating_point()]
    pairs = list(zip(seen.got.value.unbind(), seen.expected.value.unbind(), strict=True))
    padded = {row for row in range(len(pairs)) if any((each[row] == pad_id).any() for each in ids)}
    wrong = {row for row, pair in enumerate(pairs) if not near(*pair)}
    if not wrong or not wrong <= padded or len(padded) == len(pairs):
        return None
    return "Only samples with padding are wrong. Which attention reads <pad>?"


EXPLAINERS = (are_probabilities, _padded_samples_wrong)
JUDGE = matches_reference(*EXPLAINERS)


def _matrix_starts(seen: Comparison) -> str | None:
    wrong = [path for path in seen.expected.value if seen.got.value[path] != "Xavier-uniform"]
    how = STARTS.get(seen.got.value[wrong[0]], "is another matrix")
    return (
        f"{len(wrong)} of {len(seen.expected.value)} matrices aren't initialised Xavier-uniform. "
        f"The first is `{wrong[0]}`, which {how}."
    )


def _src(draw: Draw, *lengths: int, longest: int = 7) -> torch.Tensor:
    return masks.padded_ids(draw, SOURCE, lengths, longest)


def _tgt(draw: Draw, *lengths: int) -> torch.Tensor:
    """Return targets (B, T), in the first of which is a word that the source's vocabulary lacks."""
    ids = masks.padded_ids(draw, TARGET, lengths)
    ids[0, 1:2] = TARGET - 1
    return ids


def _full(draw: Draw) -> list[torch.Tensor]:
    return [_src(draw, 7, 7, 7), _tgt(draw, 5, 5, 5)]


def _model(
    draw: Draw, *calls: list[torch.Tensor], parts: Sequence[str] = (),
    real: Sequence[torch.Tensor | None] = (), **init_kwargs: Any,
) -> CallModule:
    """Call a model with drawn weights; `parts` and `real` are those of CallWithPadding."""
    drawn = weights.transformer(draw, SIZES)
    if real:
        return CallWithPadding(SIZES, drawn, calls, init_kwargs, parts=parts, real=real)
    return CallModule(SIZES, drawn, calls, init_kwargs, parts=parts)


def _encodes(draw: Draw) -> Operation:
    src = _src(draw, 7, 4, 6)
    return _model(draw, [src], parts=["encode"], real=[src != 0])


def _equal_lengths(draw: Draw) -> Operation:
    src, tgt = _src(draw, 4, 6, 3, longest=6), _tgt(draw, 6, 5, 6)
    return _model(draw, [_src(draw, 1, longest=1), _tgt(draw, 1)], [src, tgt], real=[None, tgt != 0])


def _target_padding(draw: Draw) -> Operation:
    tgt = _tgt(draw, 5, 5)
    tgt[1, 2] = 0
    return _model(draw, [_src(draw, 7, 7), tgt], real=[tgt != 0])


def _other_padding(draw: Draw) -> Operation:
    src, tgt = draw.integers(6, SOURCE, 2, 7), draw.integers(6, TARGET, 2, 6)
    src[0, 4:], tgt[0, 3] = 5, 5
    return _model(draw, [src, tgt], [src], parts=["", "encode"], real=[tgt != 5, src != 5], pad_id=5)


def _two_batches(draw: Draw) -> Operation:
    first, second = _src(draw, 7, 4, 6), _src(draw, 5, 7, 3)
    tgt, other = _tgt(draw, 5, 3, 5), _tgt(draw, 4, 5, 2)
    return _model(draw, [first, tgt], [second, other], real=[tgt != 0, other != 0])


def _second_batch(seen: Comparison) -> Verdict:
    """Say of a second batch that is wrong after a right one that something was kept."""
    verdict = JUDGE(seen)
    got, want = seen.got.value, seen.expected.value
    if verdict.passed or seen.got.raised or not (same_form(got, want) and near(got[0], want[0])):
        return verdict
    return failed(
        "The first batch is right, and the second, of the same shape, is wrong. Is something kept in "
        "`self` from one call to the next, such as a mask?"
    )


def _more_padding(draw: Draw) -> Operation:
    src, tgt = _src(draw, 7, 4, 6), _tgt(draw, 5, 5, 5)
    return modules.asked_as(modules.ChangedPositions, _model(draw, [src, tgt], [F.pad(src, (0, 3)), tgt]))


def _alone(draw: Draw) -> Operation:
    src, tgt = _src(draw, 4, 7, 6), _tgt(draw, 5, 5, 5)
    calls = [[src, tgt], [src[:1, :4].clone(), tgt[:1].clone()]]
    return modules.asked_as(modules.ChangedPositions, _model(draw, *calls))


def _first_matrices(draw: Draw) -> Operation:
    init = [51, 67, 24, 4, 2, 40]
    drawn = weights.transformer(draw, init)
    return MatrixStarts(init, paths=[path for path, value in drawn.items() if value.dim() == 2])


def _own_parts(draw: Draw) -> Operation:
    ids = [masks.padded_ids(draw, WORDS, [7, 4, 6]), masks.padded_ids(draw, WORDS, [5, 5, 5])]
    return PassParts([WORDS, WORDS, WIDTH, 2, 1, 8], calls=[ids])


def _dropped(draw: Draw) -> Operation:
    src, tgt = _full(draw)
    asked = _model(draw, [src, tgt], [src], parts=["", "encode"], max_len=9, dropout=NEARLY_ALL)
    return replace(asked, train=True)


def _padded_call(draw: Draw) -> CallModule:
    return _model(draw, [_src(draw, 7, 4), _tgt(draw, 5, 5)])


def _sized(draw: Draw, init: list[int], *call: torch.Tensor, **options: Any) -> CallModule:
    return module(init, weights.transformer(draw, init), call, **options)


def _small(draw: Draw, *call: torch.Tensor, **options: Any) -> CallModule:
    return _sized(draw, [8, 9, 4, 4, 2, 6, 12], *call, **{"dropout": 0.0, **options})


exercise = ExerciseChecks(reference=stand_ins_models.Transformer, judge=JUDGE,
    excludes=FINISHED_ATTENTION,
    examples=[
        example(lambda d: _small(d, torch.tensor([[5, 4, 6]]), torch.tensor([[1, 7]]))),
        example(lambda d: _small(d, torch.tensor([[5, 0, 0], [4, 7, 6]]), torch.tensor([[1, 6, 4],
                [1, 5, 0]]))),
        example(lambda d: _small(d, torch.tensor([[5, 3]]), torch.tensor([[1, 6, 4, 7, 5, 3]]),
                                 pad_id=3)),
        example(lambda d: _small(d, torch.tensor([[5, 4]]), torch.tensor([[1, 6]]), train=True,
                                 dropout=NEARLY_ALL)),
    ], checks=[
    module_learns_too((3, 5, TARGET),
    Check("logits", "logits for a source of seven tokens and a target of five",
          lambda d: _model(d, _full(d)), weight=2)),
    Check("encodes", "encode gives the memory", _encodes),
    Check("decodes", "decode reads the memory it is given",
          lambda d: _model(d, [_tgt(d, 5, 5), d.normal(2, 7, 8), _src(d, 7, 3)], parts=["decode"])),
    Check("equal-lengths", "one token of each, and then source and target of one length", _equal_lengths),
    module_learns_too((3, 5, TARGET), Check("source-padding", "each source has its own padding",
          lambda d: _model(d, [_src(d, 7, 2, 5), _tgt(d, 5, 5, 5)]))),
    Check("target-padding", "<pad> among the target's tokens is hidden", _target_padding, weight=0.5),
    Check("other-padding", "another pad_id", _other_padding),
    Check("calls", "each call makes its own masks: two batches of one shape, padded in different places",
          _two_batches, _second_batch, weight=0.5),
    Check("keeps-pad-id", "the model stores pad_id",
          lambda _: ReadState(SMALL, init_kwargs={"pad_id": 5}, paths=["pad_id"]), weight=0.5),
    Check("causal", "no position sees the future",
          lambda d: modules.changed_word(_model(d, _full(d)), 1, 3, TARGET),
          positions_change("target token 3 changes")),
    Check("history", "every position sees the target so far",
          lambda d: modules.changed_word(_model(d, _full(d)), 1, 0, TARGET),
          positions_change("target token 0 changes"), weight=0.5),
    Check("reads-source", "every position sees the whole source",
          lambda d: modules.changed_word(_model(d, _full(d)), 0, -1, SOURCE),
          positions_change("the last source token changes")),
    Check("padding-is-idle", "more padding after the source changes nothing", _more_padding,
          positions_change("the source gets three more <pad>")),
    Check("alone", "a sample gives the same result alone and in a batch", _alone,
          positions_change("sample 0 is taken out of its batch"), weight=0.5),
    Check("first", "every matrix that the model builds is initialised Xavier-uniform", _first_matrices,
          matches_reference(_matrix_starts, any_form=True)),
    Check("own-parts", "an encoder and a decoder that are passed in are used as they are", _own_parts,
          facts(PARTS)),
    Check("base-model", "the defaults are the base model of the paper",
          lambda _: ReadState(SMALL, defaults=DEFAULTS), weight=0.5),
    Check("too-long", "a source longer than max_len raises a ValueError",  # target words are not source words
          lambda d: _sized(d, [SOURCE, TARGET, 8, 2, 1, 12, 6], _src(d, 7), torch.full((1, 5), TARGET - 1)),
          weight=0.5, raises="ValueError"),
    Check("long-enough", "max_len may exceed 512",
          lambda d: _sized(d, [SOURCE, TARGET, 8, 1, 1, 4, 540], _src(d, 530, longest=530), _tgt(d, 3)),
          weight=0.5),
    Check("dropout", "dropout is off in eval mode and on in train mode, at the given rate",
          _dropped),
    Check("learns", "gradients reach both halves",
          lambda d: modules.gradients(_padded_call(d), d.normal(2, 5, TARGET)), gradients_match()),
    arguments(_padded_call, *EXPLAINERS, names=["src", "tgt"]),
    Check("padding-first", "padding may come before the tokens of the source",
          lambda d: _model(d, [_src(d, 7, 4, 5).flip(1), _tgt(d, 5, 5, 5)]), weight=0.5),
    *properties(_padded_call, sizes=lambda d: [
        _sized(d, [2, 3, 2, 1, 1, 1], d.integers(1, 2, 1, 1), d.integers(1, 2, 1, 1)),
        _sized(d, [99, 90, 48, 8, 2, 90], d.integers(1, 90, 12, 50), d.integers(1, 90, 12, 40)),
    ]),
])
