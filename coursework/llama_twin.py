"""The Llama of `transformers` on the tensors of a GGUF file, to compare a student's model with."""

from collections.abc import Mapping
from typing import Any, Final

import torch
from torch import Tensor, nn

from coursework.smollm import BASE, D_FF, D_HEAD, D_MODEL, EPS, HEADS, KV_HEADS, LAYERS

NAMES: Final = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
}


def to_halves(weight: Tensor) -> Tensor:
    """Reorder the rows of each head of w_q or w_k (H·K, D), from pairs of neighbours to pairs of halves.

    In a GGUF file features 2i and 2i + 1 of a head turn together; in `transformers`, i and i + K/2 do.
    """
    pairs = weight.view(-1, D_HEAD // 2, 2, D_MODEL)  # (H, K/2, 2, D)
    return pairs.transpose(1, 2).flatten(0, 2)


def transformers_llama(tensors: Mapping[str, Tensor], *, reorder: bool = True) -> nn.Module:
    """Return the `LlamaForCausalLM` of `transformers` with the tensors of SmolLM2's file.

    It shares them, but for the queries' and keys' matrices, which are reordered. Without `reorder` they are
    taken as they are, which makes it another model.
    """
    from transformers import LlamaConfig, LlamaForCausalLM
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

    config = LlamaConfig(
        vocab_size=tensors["token_embd.weight"].size(0),
        hidden_size=D_MODEL,
        intermediate_size=D_FF,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=KV_HEADS,
        rms_norm_eps=EPS,
        tie_word_embeddings=True,
        rope_theta=BASE,
        max_position_embeddings=8192,
    )
    with torch.device("meta"):  # no memory for weights that are replaced at once
        model: Any = LlamaForCausalLM(config)
    table = tensors["token_embd.weight"]
    weights = {"model.embed_tokens.weight": table, "lm_head.weight": table}
    weights["model.norm.weight"] = tensors["output_norm.weight"]
    for layer in range(LAYERS):
        for theirs, stored in NAMES.items():
            weight = tensors[f"blk.{layer}.{stored}.weight"]
            turned = reorder and stored in ("attn_q", "attn_k")
            weights[f"model.layers.{layer}.{theirs}.weight"] = to_halves(weight) if turned else weight
    model.load_state_dict(weights, assign=True)
    model.model.rotary_emb = LlamaRotaryEmbedding(config)  # its angles are no weights
    own: nn.Module = model.eval()
    return own
