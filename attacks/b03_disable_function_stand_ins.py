# 05_encoder encoder
import coursework.stand_ins_models as m
class Encoder(nn.Module):
    def __init__(self, *a, **k):
        super().__init__()
        with torch._C.DisableTorchFunction():
            inner = m.Encoder(*a, **k)
        self.embedding, self.position, self.layers = inner.embedding, inner.position, inner.layers
        self.__dict__["inner"] = inner
    def forward(self, ids, mask=None):
        with torch._C.DisableTorchFunction():
            return self.inner(ids, mask)
