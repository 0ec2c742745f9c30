"""`Embed` tells a matrix product with a table from a lookup in it, however either is written."""

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F

from coursework.engine.operation import Answer
from coursework.engine.products import Embed

IDS, TABLE = torch.tensor([[1, 3], [3, 0]]), torch.randn(7, 5)
Function = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def multiplies(embed: Function, ids: torch.Tensor, table: torch.Tensor) -> bool:
    """Return what is read from what the operation returns."""
    operation = Embed([ids, table])
    product: bool = operation.read(operation.run(Answer({"embed": embed}, "embed")))["product"]
    return product


def hot(ids: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
    """Return one-hot rows in the table's dtype."""
    return F.one_hot(ids, len(table)).to(table.dtype)


@pytest.mark.parametrize(
    "embed",
    [
        lambda ids, table: hot(ids, table) @ table,
        lambda ids, table: torch.einsum("bsv,vd->bsd", hot(ids, table), table),
        lambda ids, table: (table.T @ hot(ids, table).mT).mT,
        lambda ids, table: torch.tensordot(hot(ids, table), table, 1),
        lambda ids, table: (hot(ids, table).unsqueeze(-1) * table).sum(dim=-2),
        lambda ids, table: torch.sparse.mm(hot(ids, table).flatten(0, 1).to_sparse(), table).view(
            2, 2, 5
        ),
        lambda ids, table: torch.from_numpy(hot(ids, table).numpy() @ table.numpy()),
    ],
)
def test_products_count(embed: Function) -> None:
    """Dense, sparse, broadcast, by letters or in numpy."""
    assert torch.allclose(embed(IDS, TABLE), TABLE[IDS])
    assert multiplies(embed, IDS, TABLE)


@pytest.mark.parametrize(
    "embed",
    [
        lambda ids, table: table[ids],
        lambda ids, table: F.embedding(ids, table),
        lambda ids, table: table[ids] @ torch.eye(5),
        lambda ids, table: table[hot(ids, table).argmax(-1)],
        lambda ids, table: torch.from_numpy(table.numpy()[ids.numpy()]),
        lambda ids, table: torch.tensor([[table.tolist()[i] for i in row] for row in ids.tolist()]),
    ],
)
def test_lookups_do_not(embed: Function) -> None:
    """By index, by the library, in numpy or lists, or with a product of something else added."""
    assert torch.allclose(embed(IDS, TABLE), TABLE[IDS])
    assert not multiplies(embed, IDS, TABLE)


def test_the_table_is_not_modified() -> None:
    """Only a copy of the table is filled with NaN."""
    before = TABLE.clone()
    multiplies(lambda ids, table: table[ids], IDS, TABLE)
    assert torch.equal(TABLE, before)
