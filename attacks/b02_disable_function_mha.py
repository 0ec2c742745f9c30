# 04_multi_head_attention multi-head-attention
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0):
        super().__init__()
        if d_model % num_heads:
            raise ValueError
        self.heads, self.drop = num_heads, dropout
        self.w_q, self.w_k, self.w_v, self.w_o = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, query, key, value, mask=None):
        B, Tq, D = query.shape
        hidden = None
        if mask is not None:
            mask = mask.expand(B, Tq, key.size(1))
            empty = ~mask.any(-1, keepdim=True)
            hidden = (~(mask | empty)).repeat_interleave(self.heads, 0)
        with torch._C.DisableTorchFunction():
            o, w = F.multi_head_attention_forward(
                query.transpose(0, 1), key.transpose(0, 1), value.transpose(0, 1), D, self.heads, None,
                torch.cat([self.w_q.bias, self.w_k.bias, self.w_v.bias]), None, None, False, self.drop,
                self.w_o.weight, self.w_o.bias, training=self.training, attn_mask=hidden,
                use_separate_proj_weight=True, q_proj_weight=self.w_q.weight, k_proj_weight=self.w_k.weight,
                v_proj_weight=self.w_v.weight, average_attn_weights=False)
        o = o.transpose(0, 1)
        if mask is not None:
            o = torch.where(empty, self.w_o.bias, o); w = w.masked_fill(empty[:, None], 0.0)
        return o, w
