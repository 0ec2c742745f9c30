# 05_encoder layer-norm
from functools import partial
class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight, self.bias = nn.Parameter(torch.ones(d_model)), nn.Parameter(torch.zeros(d_model))
    def forward(self, x):
        i = nn.Identity()
        i.register_forward_pre_hook(lambda m, a: F.layer_norm(a[0], self.weight.shape, self.weight, self.bias, self.eps))
        return i(x)
