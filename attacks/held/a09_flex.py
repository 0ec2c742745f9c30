# 03_attention scaled-dot-product-attention
from torch.nn.attention.flex_attention import flex_attention
def scaled_dot_product_attention(q, k, v, mask=None):
    lead = q.shape[:-2]
    Q, K, V = (t.reshape(-1, 1, *t.shape[-2:]) for t in (q, k, v))
    M = None if mask is None else mask.expand(*lead, q.size(-2), k.size(-2)).reshape(-1, q.size(-2), k.size(-2))
    mod = None if M is None else (lambda s, b, h, i, j: torch.where(M[b, i, j], s, -float("inf")))
    o = flex_attention(Q, K, V, score_mod=mod).reshape(*lead, q.size(-2), v.size(-1))
    E = torch.eye(k.size(-2), dtype=v.dtype).expand(Q.size(0), 1, -1, -1)
    w = flex_attention(Q, K, E, score_mod=mod).reshape(*lead, q.size(-2), k.size(-2))
    return o, w
