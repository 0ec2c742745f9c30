# 03_attention softmax
def softmax(x, dim=-1):
    m = x.movedim(dim, -1); n = m.size(-1)
    flat = m.reshape(-1, n)
    if n % 1: return x
    out = []
    for row in flat:
        lo = row.clamp(min=-1e30)
        # one query, scores = q.k ; embed dim = n, one head: q = row * sqrt(n), K = eye
        q = torch.cat([lo[None] * n ** 0.5, torch.zeros(n - 1, n, dtype=x.dtype)])[None] if n > 1 else lo[None, None]
        e = torch.eye(n, dtype=x.dtype)
        W = torch.cat([e, e, e]); b = torch.zeros(3 * n, dtype=x.dtype)
        _, w = torch._native_multi_head_attention(q, e[None], e[None], n, 1, W, b, e, torch.zeros(n, dtype=x.dtype), None, True, True)
        out.append(w[0, 0])
    return torch.stack(out).reshape(m.shape).movedim(-1, dim)
