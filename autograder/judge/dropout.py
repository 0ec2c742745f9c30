"""What checks of dropout share: a rate, and sentences for the facts of `DropoutFact`."""

from autograder.judge.judges import matches_reference
from autograder.model.exercise import Comparison

NEARLY_ALL = 1 - 1e-7  # drops everything; with exactly 1, scaling up what is left divides by 0

SENTENCES = {
    "repeats": "Two calls in eval mode give different results. `F.dropout` drops in eval mode too, unless "
    "you pass it `self.training`, and `.eval()` does not reach a part in a plain list.",
    "drops nothing": "With dropout 0, train mode and eval mode give different results: some part has a "
    "dropout rate of its own.",
    "drops parts": "With a dropout near 1, something is left in train mode that should be dropped, "
    "or something is dropped that should be left.",
    "drops inside": "With much dropout, most hidden units of the feed-forward should be dropped in train "
    "mode. Here most are kept.",
}


def _sentence(seen: Comparison) -> str:
    return SENTENCES[seen.inputs["fact"]]


holds = matches_reference(_sentence, any_form=True)  # a judge of `DropoutFact`

nothing_dropped = matches_reference(
    lambda _seen: (
        "This is not the output that you should get without dropout. If the checks above pass, "
        "something is dropped or drawn at random here that should not be."
    )
)
