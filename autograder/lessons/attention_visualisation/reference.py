"""References of lesson 08, which compute weights anew from the model's matrices, without hooks."""

import math
from typing import Any

import seaborn
import torch
import torch.nn.functional as F
from matplotlib import pyplot

GIVEN = {"plt": pyplot, "sns": seaborn}


def attention_maps(model: Any, src: torch.Tensor, tgt: torch.Tensor) -> dict[str, torch.Tensor]:
    """Climb both stacks by hand, and compute every softmax from w_q and w_k."""
    from functools import partial

    def weights(part: Any, x: torch.Tensor, y: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
        q, k = (
            layer(z).unflatten(-1, (part.num_heads, -1)).transpose(1, 2)
            for layer, z in ((part.w_q, x), (part.w_k, y))
        )
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k) / q.size(-1) ** 0.5
        hidden = ~seen[:, None]
        shares: torch.Tensor = scores.masked_fill(hidden, -math.inf).softmax(dim=-1)
        return shares[0]  # (H, Tq, Tk)

    mode = model.training
    model.eval()
    maps: dict[str, list[torch.Tensor]] = {"encoder": [], "decoder": [], "cross": []}
    real = src.ne(model.pad_id)[:, None]  # (1, 1, S)
    future = torch.ones(tgt.size(1), tgt.size(1)).triu(1).bool()
    own = tgt.ne(model.pad_id)[:, None] & ~future  # (1, T, T)
    try:
        x = model.encoder.position(model.encoder.embedding(src))
        for layer in model.encoder.layers:
            maps["encoder"].append(weights(layer.self_attention, x, x, real))
            x = layer(x, real)
        y = model.decoder.position(model.decoder.embedding(tgt))
        for layer in model.decoder.layers:
            maps["decoder"].append(weights(layer.self_attention, y, y, own))
            inside = layer.norm1(y + layer.self_attention(y, y, y, own)[0])
            maps["cross"].append(weights(layer.cross_attention, inside, x, real))
            y = layer(y, x, own, real)
    finally:
        model.train(mode)
    return dict(zip(maps, map(partial(torch.stack), maps.values()), strict=True))


def plot_attention(weights: torch.Tensor, queries: list[str], keys: list[str], ax: Any = None) -> Any:
    """Draw coloured quadrilaterals, and name their middles."""
    from matplotlib import pyplot

    ax = ax if ax is not None else pyplot.figure().add_subplot()
    ax.pcolormesh(weights.detach().cpu().numpy(), vmin=0.0, vmax=1.0)
    ax.set_yticks([place + 0.5 for place in range(len(queries))], list(queries))
    ax.set_xticks([place + 0.5 for place in range(len(keys))], list(keys))
    ax.invert_yaxis()
    return ax


def sentence_pair_attention(
    model: Any, tokeniser: Any, a: str, b: str,
) -> tuple[torch.Tensor, list[str], int]:
    """Lay out [CLS] a [SEP] b [SEP] by hand."""
    first, second = (tokeniser.encode(text, add_special_tokens=False) for text in (a, b))
    end = [tokeniser.sep_token_id]
    ids = torch.tensor([[tokeniser.cls_token_id, *first, *end, *second, *end]])
    start = len(first) + 2
    segments = torch.arange(ids.size(1)).ge(start).long()[None]
    with torch.inference_mode():
        read = model(input_ids=ids, token_type_ids=segments, output_attentions=True)["attentions"]
    tokens = [tokeniser.convert_ids_to_tokens(number) for number in ids[0].tolist()]
    return torch.cat([weights.clone() for weights in read]), tokens, start


def previous_token_score(attentions: torch.Tensor) -> torch.Tensor:
    """Pick query i and key i − 1 by number."""
    query = torch.arange(1, attentions.size(-1))
    return attentions[:, :, query, query - 1].sum(dim=-1) / len(query)


def attention_entropy(weights: torch.Tensor) -> torch.Tensor:
    """Sum torch's own −w ln w."""
    terms: torch.Tensor = torch.special.entr(weights)
    return terms.sum(dim=-1)


def attention_rollout(attentions: torch.Tensor) -> torch.Tensor:
    """Mix, divide by the L1 norm of each row, and multiply up from the first layer."""
    own = torch.diag_embed(torch.ones_like(attentions[:, 0, :, 0]))  # (L, S, S)
    steps = F.normalize(attentions.mean(dim=1) + own, p=1.0, dim=-1)
    product: torch.Tensor = torch.linalg.multi_dot([*steps.flip(0), own[0]])
    return product


def best_span(start_logits: torch.Tensor, end_logits: torch.Tensor, max_length: int) -> tuple[int, int]:
    """Try every span."""
    size = len(start_logits)
    spans = [(i, j) for i in range(size) for j in range(i, min(i + max_length, size))]
    return max(spans, key=lambda span: float(start_logits[span[0]] + end_logits[span[1]]))


def silence_head(attention: Any, head: int) -> Any:
    """Blank the head's features on their way into w_o, with a hook that is removed afterwards."""
    from contextlib import contextmanager

    @contextmanager
    def silenced() -> Any:
        def blank(_layer: Any, given: tuple[torch.Tensor, ...]) -> torch.Tensor:
            width = given[0].size(-1) // attention.num_heads
            of_head = torch.arange(given[0].size(-1)).div(width, rounding_mode="floor")
            return given[0].masked_fill(of_head == head, 0.0)

        hook = attention.w_o.register_forward_pre_hook(blank)
        try:
            yield
        finally:
            hook.remove()

    return silenced()
