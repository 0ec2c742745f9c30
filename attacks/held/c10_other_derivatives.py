# 03_attention softmax
def softmax(x, dim=-1):
    f = torch.fx.experimental.proxy_tensor.make_fx(lambda y: torch.softmax(y, dim))(x)
    return f(x)
#---
# 03_attention softmax
def softmax(x, dim=-1):
    return torch.distributions.Categorical(logits=x.movedim(dim, -1)).probs.movedim(-1, dim)
#---
# 03_attention softmax
def softmax(x, dim=-1):
    y = x.detach().requires_grad_()
    got = []
    y.register_hook(got.append)
    F.mse_loss(y.logsumexp(dim).sum(), torch.zeros(()), reduction="sum")
    y.logsumexp(dim).sum().backward()
    return got[0]
#---
# 03_attention softmax
import torch.func as tf
def softmax(x, dim=-1):
    return tf.vjp(lambda y: y.logsumexp(dim).sum(), x)[1](torch.ones((), dtype=x.dtype))[0]
