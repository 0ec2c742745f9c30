# 03_attention softmax
import copy
def softmax(x, dim=-1):
    print(x, repr(x), f"{x.sum():.2f}")
    y = copy.deepcopy(x.detach()) if False else x
    e = torch.exp(y - y.amax(dim, keepdim=True))
    print(e)
    return e / e.sum(dim, keepdim=True)
#---
# 05_encoder layer-norm
class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight, self.bias = nn.Parameter(torch.ones(d_model)), nn.Parameter(torch.zeros(d_model))
    def forward(self, x):
        print(x, self.weight, x.grad_fn) if False else print(x, self.weight, self)
        m, v = x.mean(-1, keepdim=True), x.var(-1, keepdim=True, correction=0)
        return (x - m) / torch.sqrt(v + self.eps) * self.weight + self.bias
