import torch
import torch.nn.functional as F

from autograder.judge.table import (
    Check, Comparison, Draw, ExerciseChecks, Operation, arguments, call, example, matches_reference,
    properties,
)
from autograder.lessons.embeddings import reference

OTHER_ORDERS = (
    "dot-product", "euclidean", "columns-normalised", "columns-compared", "squared-length", "centred",
    "ranks",
)  # fmt: skip
SEVERAL = (*OTHER_ORDERS, "by-row-number")


def _fan(draw: Draw, rows: int, width: int, low: float = -0.9) -> tuple[torch.Tensor, torch.Tensor]:
    """Return a table and a query with cosines spread evenly from `low` to 0.93, shuffled.

    The lengths of the rows differ so much that neither dot products nor distances give this order.
    """
    query = draw.normal(width) + 1.0  # its mean is not 0: a correlation is not a cosine
    towards = F.normalize(query, dim=-1)
    across = draw.normal(rows, width)
    across = F.normalize(across - (across @ towards)[:, None] * towards, dim=-1)
    cosines = torch.linspace(low, 0.93, rows)[draw.different(rows, 0, rows)][:, None]
    lengths = 4.0 ** torch.linspace(-1.5, 1.5, rows)[draw.different(rows, 0, rows)][:, None]
    return lengths * (cosines * towards + (1 - cosines**2).sqrt() * across), query


def _itself(draw: Draw) -> Operation:
    table, query = _fan(draw, 10, 6)
    table[draw.integer(0, 10)] = query
    return call(table, query, 4)


def _zero_row(draw: Draw) -> Operation:
    """Replace the row whose cosine is closest to 0 by zeros: the order stays as it was."""
    table, query = _fan(draw, 10, 8, low=-0.85)
    table[F.cosine_similarity(table, query, dim=-1).abs().argmin()] = 0.0
    return call(table, query, 10)


def _wrong_row(seen: Comparison) -> str | None:
    table, query, _ = seen.inputs["args"]
    got, want = seen.got.value, seen.expected.value
    place = int((got != want).nonzero()[0])
    cosines = F.cosine_similarity(table, query, dim=-1)
    said = f"Entry {place} of your result is the wrong row:"
    if cosines[got[place]] < cosines[want[place]]:
        return f"{said} another row has a higher cosine with the query."
    return f"{said} it has a higher cosine with the query than the row that should be there."


exercise = ExerciseChecks(reference=reference.nearest, judge=matches_reference(_wrong_row),
    examples=[
        example(lambda _: call(torch.tensor([[-5.0, 1.0], [0.1, 0.0], [1.0, 4.0], [0.0, 0.0]]),
                               torch.tensor([1.0, 0.2]), 4)),
        example(lambda d: call(*_fan(d, 6, 3), 3)),
        example(lambda _: call(torch.tensor([[2.0, 9.0, 4.0], [1.0, 1.0, 1.0], [-3.0, 0.5, 0.5]]),
                               torch.tensor([0.5, 0.9, 0.2]), 2)),
    ], checks=[
    Check("rows", "rows from highest to lowest cosine, whatever their lengths",
          lambda d: call(*_fan(d, 12, 7), 5), weight=2, separates=SEVERAL),
    Check("one", "the single nearest row", lambda d: call(*_fan(d, 30, 6), 1), separates=OTHER_ORDERS),
    Check("everything", "all rows, including those that point the opposite way",
          lambda d: call(*_fan(d, 8, 5), 8), separates=SEVERAL),
    Check("itself", "if the query is a row of the table, that row comes first", _itself, weight=0.5,
          separates=SEVERAL),
    Check("zero-row", "a row of zeros has similarity 0", _zero_row, separates=SEVERAL),
    Check("double", "a table and a query in float64",
          lambda d: call(*(x.double() for x in _fan(d, 11, 9)), 6), weight=0.5, separates=SEVERAL),
    arguments(lambda d: call(*_fan(d, 7, 4), 3), _wrong_row, names=("table", "query"), separates=SEVERAL),
    *properties(lambda d: call(*_fan(d, 12, 7), 5), separates=SEVERAL,
                sizes=lambda d: [call(*_fan(d, 1, 1), 1), call(*_fan(d, 300, 40), 100)]),
])
