# 03_attention softmax
class S(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, dim):
        return torch.softmax(x, dim)
def softmax(x, dim=-1):
    return S.apply(x, dim)
