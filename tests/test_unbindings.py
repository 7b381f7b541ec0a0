"""The unbinding swap on a tiny TPGN: what is exchanged is what is read, and both make words change places."""

import torch

from tprprobe.interventions.unbindings import summarize_unbindings, swap_unbindings
from tprprobe.models import build

SIZES = {"vocab_size": 12, "d_model": 4, "d_embedding": 5, "d_features": 6}


def test_words_change_places_where_both_are_exchanged():
    model = build({"architecture": "tpgn", **SIZES}, seed=3).eval()
    for parameter in model.parameters():
        parameter.data.mul_(6)
    generator = torch.Generator().manual_seed(0)
    source = torch.randn(60, 6, generator=generator)
    start = torch.full((60, 1), 2)
    target = torch.cat([start, torch.randint(4, 12, (60, 6), generator=generator)], 1)
    target[0, 1:] = 7  # no two different words
    written = model(source, target[:, :-1]).argmax(-1)
    rows = swap_unbindings(model, source, target)
    assert set(rows["caption"]) == set(range(1, 60))
    by = {name: each.reset_index(drop=True) for name, each in rows.groupby("exchanged")}
    plain, both = by["nothing"], by["both"]
    n = len(plain) // 2
    here, there = (plain["position"][each].tolist() for each in (slice(n), slice(n, None)))
    captions = plain["caption"][:n].tolist()
    here, there = torch.tensor([*here]), torch.tensor([*there])
    other = target[captions, there + 1]
    assert both["other"][:n].tolist() == written[captions, there].eq(other).tolist()
    assert (
        plain["own"][:n].tolist() == written[captions, here].eq(target[captions, here + 1]).tolist()
    )
    assert (
        by["unbinding"][["own", "other"]].to_numpy().tolist()
        != plain[["own", "other"]].to_numpy().tolist()
    )
    table = summarize_unbindings(rows).set_index("exchanged")
    assert table.loc["nothing", "own"] == plain["own"].mean()
    assert (table[["own", "other", "neither"]].sum(axis=1).round(6) == 1).all()
