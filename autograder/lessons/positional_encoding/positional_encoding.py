import torch

from autograder.judge import modules
from autograder.judge.dropout import drops_together
from autograder.judge.table import (
    NEARLY_ALL, Check, Comparison, DropoutFact, ExerciseChecks, ReadState, Verdict, defaults, example, facts,
    failed, gradients_match, matches_reference, module, no_side_effects, part_of, properties,
)
from autograder.lessons.positional_encoding import judges
from coursework import stand_ins
from coursework.engine.operations import in_float64

DROPPED = 0.11  # how far the share of zeros may be from the rate
NO_BUFFER = {
    "parameter": "`pe` is a parameter, which is meant to be trained. Register it as a buffer.",
    "attribute": "`pe` is a plain attribute, which `.to(device)` does not move. Register it as a buffer.",
}


def _holds_table(seen: Comparison) -> Verdict:
    """Want a buffer that holds the table, with a batch dimension of size 1 or without."""
    if seen.got.raised:
        return matches_reference()(seen)
    kind = seen.got.value["pe"]["kind"]
    table = part_of(seen, lambda found: _without_batch(found["pe"]["value"]))
    return failed(NO_BUFFER[kind]) if kind in NO_BUFFER else judges.table_judge(table)


def _without_batch(table: torch.Tensor) -> torch.Tensor:
    return table.flatten(0, 1) if table.dim() == 3 and 1 in table.shape[:2] else table


def _dropped(seen: Comparison) -> str:
    if together := drops_together(seen):
        return together
    got, want = seen.got.value, seen.expected.value
    asked = "Is dropout applied to the sum, at the given rate?"
    if abs(got["zeroed"] - want["zeroed"]) > DROPPED:
        how = "few" if got["zeroed"] < want["zeroed"] else "many"
        return f"In train mode, too {how} entries are set to 0. {asked}"
    return f"In train mode, the entries that dropout leaves should be scaled by 1 / (1 − dropout). {asked}"


LOOSELY = judges.any_float(matches_reference(judges.wrong_row, atol=judges.LOOSE))

exercise = ExerciseChecks(reference=stand_ins.PositionalEncoding, judge=judges.sum_judge,
    examples=[
        example(lambda d: module([4, 6], {}, [d.normal(1, 3, 4)])),
        example(lambda d: module([2, 5], {}, [d.normal(3, 2, 2)])),
        example(lambda d: module([4, 2], {}, [d.normal(1, 3, 4)])),
        example(lambda d: module([2, 3, NEARLY_ALL], {}, [d.normal(1, 2, 2)], train=True)),
    ], checks=[
    Check("batch", "position s of every sample gets row s of the table",
          lambda d: module([12, 30], {}, [d.normal(3, 7, 12)]), weight=2),
    Check("large-batch", "a batch larger than the length of the text, and of the table",
          lambda d: module([8, 6], {}, [d.normal(9, 4, 8)])),
    Check("full-length", "a single sample, as long as the table",
          lambda d: module([10, 7], {}, [d.normal(1, 7, 10)])),
    Check("cube", "as many samples as tokens as features: the length is the second dimension",
          lambda d: module([6, 20], {}, [d.normal(6, 6, 6)])),
    Check("calls", "a short text, then a longer one: calls are independent",
          lambda d: module([6, 11], {}, *([d.normal(b, s, 6)] for b, s in ((2, 3), (4, 9), (2, 1))))),
    Check("default-length", "300 positions fit into a table of the default length",
          lambda d: module([16], {}, [d.normal(2, 300, 16)]), LOOSELY),
    Check("calm", "in eval mode, dropout is off", lambda d: module([8, 15, 0.9], {}, [d.normal(4, 10, 8)])),
    Check("live", "in train mode, dropout applies to the sum of both",
          lambda d: DropoutFact([32, 60, 0.8], calls=[[d.normal(8, 50, 32)]], fact="rate"),
          matches_reference(_dropped, atol=DROPPED, rtol=0.02, any_form=True)),
    Check("too-long", "a text longer than the table is refused with a ValueError",
          lambda d: module([8, 5], {}, [d.normal(2, 6, 8)]), raises="ValueError"),
    Check("arguments", "the input is left unchanged", lambda d: module([6, 9], {}, [d.normal(2, 5, 6)]),
          judges.any_float(no_side_effects(judges.wrong_row, names=["x"])), weight=0.5),
    Check("dtype", "float32 in, float32 out",
          lambda d: module([6, 9], {}, [d.normal(2, 5, 6)]), judges.is_float32, weight=0.5),
    Check("double", "it works in float64",
          lambda d: in_float64(module([6, 9], {}, [d.normal(2, 5, 6)])), weight=0.5),
    Check("table", "`pe` is a buffer and holds the table",
          lambda _: ReadState([14, 25], paths=["pe"], facts=["value", "kind"]), _holds_table),
    Check("nothing-learnt", "it has no trainable parameters", lambda _: ReadState([14, 25], total=True),
          facts({"total": "Some of the module's numbers are trainable, but none should be."}), weight=0.5),
    Check("learns", "gradients pass through to x", lambda d: modules.gradients(
              module([6, 9, 0.0], {}, [d.normal(2, 5, 6)]), d.normal(2, 5, 6), of_arguments=True),
          gradients_match(["x"]), weight=0.5),
    *properties(lambda d: module([6, 9], {}, [d.normal(2, 5, 6)]), judge=LOOSELY,
                sizes=lambda d: [module([2, 1], {}, [d.normal(1, 1, 2)]),
                                 module([64, 150], {}, [d.normal(3, 140, 64)])]),
    defaults(lambda d: [module([4], {}, [d.normal(1, length, 4)], train=True) for length in (4, 512, 513)],
             max_len=(512, 600), dropout=(0.1, 0.5)),
])
