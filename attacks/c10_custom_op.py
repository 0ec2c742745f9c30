# 03_attention softmax
@torch.library.custom_op("mine::soft", mutates_args=())
def soft(x: torch.Tensor, dim: int) -> torch.Tensor:
    return torch.softmax(x, dim)
def softmax(x, dim=-1):
    return soft(x, dim)
