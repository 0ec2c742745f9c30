# 05_encoder encoder
import coursework.stand_ins_models as m
m.__name__ = "threading"
def Encoder(*a, **k):
    return m.Encoder(*a, **k)
