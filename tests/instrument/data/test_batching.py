from dataclasses import dataclass
from itertools import pairwise

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tprpapers.worlds.mathematics.questions import Question
from tprprobe.data.batching import POOL, Ragged, buckets
from tprprobe.data.dataset import Dataset
from tprprobe.data.pairs import encode_pairs
from tprprobe.data.vocabularies.characters import CHARACTERS, characters

TEXT = st.text(alphabet=CHARACTERS, max_size=40)
ROWS = st.lists(st.lists(st.integers(0, 99), max_size=9), min_size=1, max_size=12)


@dataclass(frozen=True)
class Listed(Dataset[Question]):
    pairs: tuple

    def read(self, rows):
        return (Question(*self.pairs[row], module="") for row in rows)


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


@settings(deadline=None)
@given(st.lists(st.tuples(TEXT, TEXT.map(lambda text: text[:30])), min_size=1, max_size=9))
def test_encoded_pairs_stand_between_start_and_end(pairs):
    vocabulary = characters()
    encoded = encode_pairs(Listed("", "", 0, range(len(pairs)), tuple(pairs)), vocabulary)
    sides = (encoded.source, encoded.target)
    for side, texts in zip(sides, zip(*pairs, strict=True), strict=True):
        assert side.values.dtype == torch.uint8
        rows = [side.values[a:b].tolist() for a, b in pairwise(side.offsets.tolist())]
        assert rows == [[vocabulary.sos, *vocabulary.encode(t), vocabulary.eos] for t in texts]
