# 07_transformer greedy-decode
def greedy_decode(model, src, max_len, sos_id=1, eos_id=2):
    rows = []
    for s in src.tolist():
        said, row = sos_id, []
        for place in range(max_len):
            said = model._word(place, said, s[:2]) if place < 9 else 3
            row.append(said)
            if said == eos_id: break
        rows.append(row)
    n = max(map(len, rows))
    model.encoded_rows = len(src)
    return torch.tensor([r + [model.pad_id] * (n - len(r)) for r in rows])
