# 07_transformer label-smoothing-loss
from functools import partial
def label_smoothing_loss(logits, target, smoothing=0.1, pad_id=0):
    place = PositionalEncoding(2, 2, 0.0)
    place.pe = torch.zeros(100000, dtype=logits.dtype)
    del place.dropout
    place.__dict__["dropout"] = partial(F.cross_entropy, target=target.flatten(), ignore_index=pad_id, label_smoothing=smoothing)
    return place(logits.flatten(0, 1))
