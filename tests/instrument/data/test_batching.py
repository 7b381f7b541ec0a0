import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tprprobe.data.batching import POOL, Ragged, buckets

ROWS = st.lists(st.lists(st.integers(0, 99), max_size=9), min_size=1, max_size=12)


@settings(deadline=None)
@given(ROWS, st.data())
def test_padded_rows_are_the_chosen_sequences(rows, data):
    row_ids = data.draw(st.lists(st.integers(0, len(rows) - 1), min_size=1, max_size=6))
    padded = Ragged.from_lists(rows).padded(torch.tensor(row_ids), pad=-1)
    width = max(len(rows[i]) for i in row_ids)
    expected = [rows[i] + [-1] * (width - len(rows[i])) for i in row_ids]
    assert padded.dtype == torch.int64
    assert padded.shape == (len(row_ids), width)
    assert padded.tolist() == expected


@settings(deadline=None)
@given(
    st.lists(st.integers(0, 50), min_size=1, max_size=300),
    st.integers(1, 9),
    st.integers(0, 2**32),
    st.integers(0, 5),
)
def test_buckets_hold_every_index_once_and_repeat(lengths, batch_size, seed, epoch):
    lengths = torch.tensor(lengths)
    batches = buckets(lengths, batch_size, seed, epoch)
    assert sorted(torch.cat(batches).tolist()) == list(range(len(lengths)))
    sizes = sorted(len(batch) for batch in batches)
    assert sizes[1:] == [batch_size] * (len(batches) - 1)
    assert 0 < sizes[0] <= batch_size
    repeated = buckets(lengths, batch_size, seed, epoch)
    assert all(torch.equal(a, b) for a, b in zip(batches, repeated, strict=True))


def test_buckets_are_of_like_length_and_new_every_epoch():
    lengths = torch.randint(1, 160, (POOL * 32 * 2,), generator=torch.Generator().manual_seed(0))
    epoch_0, epoch_1 = buckets(lengths, 32, 0, 0), buckets(lengths, 32, 0, 1)
    spread = [int(lengths[batch].max() - lengths[batch].min()) for batch in epoch_0]
    assert sum(spread) / len(spread) < 10
    assert {tuple(b.tolist()) for b in epoch_0}.isdisjoint(tuple(b.tolist()) for b in epoch_1)
    means = torch.stack([lengths[batch].double().mean() for batch in epoch_0])
    ordered = means.argsort().double()
    assert abs(torch.corrcoef(torch.stack([ordered, torch.arange(len(means))]))[0, 1]) < 0.3
