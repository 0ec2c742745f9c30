import torch

from autograder.judge import modules
from autograder.judge.table import (
    CallModule, Check, Comparison, Draw, ExerciseChecks, ReadState, arguments, example, gradients_match,
    matches_reference, module, near, positions_mix, properties, samples_mix,
)
from coursework import stand_ins_modern

WEIGHTS = ("w1.weight", "w2.weight", "w3.weight")


def _network(d: Draw, d_model: int, d_ff: int, *inputs: torch.Tensor) -> CallModule:
    drawn = {
        "w1.weight": d.normal(d_ff, d_model, scale=2 * d_model**-0.5),
        "w2.weight": d.normal(d_model, d_ff, scale=d_ff**-0.5),
        "w3.weight": d.normal(d_ff, d_model, scale=d_model**-0.5),
    }
    return module([d_model, d_ff], drawn, *([x] for x in inputs))


def _gate_exchanged(seen: Comparison) -> str | None:
    drawn, x = seen.inputs["weights"], seen.inputs["calls"][0][0]
    one, three = (x @ drawn[f"{name}.weight"].mT for name in ("w1", "w3"))
    other = (one * torch.nn.functional.silu(three)) @ drawn["w2.weight"].mT
    if near(seen.got.value, other):
        return "The SiLU is applied to the projection by `w3`. Which of the two is the gate?"
    return None


def _positions(d: Draw) -> CallModule:
    x = d.normal(3, 4, 6)
    return _network(d, 6, 8, x, x[:, 2:3], x[:, 2:3])


def _biases(seen: Comparison) -> str | None:
    if seen.got.value["total"] > seen.expected.value["total"]:
        return "There are more parameters than three matrices have. Do your linear layers have a bias?"
    return None


exercise = ExerciseChecks(reference=stand_ins_modern.GatedFeedForward,
    examples=[
        example(lambda d: _network(d, 2, 3, d.normal(1, 2, 2))),
        example(lambda d: _network(d, 3, 5, d.normal(2, 1, 3, scale=2.0))),
    ], checks=[
    Check("formula", "the gate goes through the SiLU and multiplies the other projection",
          lambda d: _network(d, 6, 11, d.normal(3, 5, 6)), matches_reference(_gate_exchanged), weight=2),
    Check("positions", "each position is processed separately, with the same weights",
          _positions, matches_reference(positions_mix)),
    Check("alone", "a sample gives the same result alone and in a batch; d_ff may be less than d_model",
          lambda d: modules.alone_twice(_network(d, 7, 5, d.normal(3, 4, 7))),
          matches_reference(samples_mix)),
    Check("no-bias", "the three linear layers have no bias",
          lambda _: ReadState([6, 9], paths=WEIGHTS, facts=["shape"], total=True),
          matches_reference(_biases)),
    Check("learns", "gradients reach the three matrices and x",
          lambda d: modules.gradients(_network(d, 6, 9, d.normal(2, 5, 6)), d.normal(2, 5, 6),
                                      of_arguments=True, registration=True), gradients_match(["x"])),
    arguments(lambda d: _network(d, 5, 8, d.normal(2, 3, 5)), names=["x"]),
    *properties(lambda d: _network(d, 5, 8, d.normal(2, 3, 5)),
                sizes=lambda d: [_network(d, 1, 1, d.normal(1, 1, 1)),
                                 _network(d, 64, 150, d.normal(20, 40, 64))]),
])
