"""Modules of another library: their vectors are those of a text alone, and sites that do not fit are explained."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import tprprobe as tp
from tprprobe.errors import InputError

TEXTS = ["3 4", "5 6 7 8 9 1 2", "1 2 3", "8 9 4 5"]
SITES = {"encoder.0.hidden": "gru", "decoder.0.hidden": "decoder", "encoder.encoding": "pool"}


class Reader(nn.Module):
    """A GRU over digits, and a decoder that starts from its final state; ``kind`` says how padding comes in."""

    def __init__(self, kind: str):
        super().__init__()
        self.kind, self.n_calls = kind, 0
        self.embed = nn.Embedding(10, 8, padding_idx=0)
        self.gru = nn.GRU(8, 8, batch_first=True, bidirectional=kind == "bidirectional")
        self.decoder = nn.GRU(8, 8, batch_first=True)
        self.pool = nn.Identity()

    def forward(self, ids: torch.Tensor, target: torch.Tensor) -> None:
        self.n_calls += 1
        vectors, inside = self.embed(ids), (ids != 0)[..., None]
        states, final = self.gru(vectors)
        last = states[torch.arange(len(ids)), inside.sum(1)[:, 0] - 1, :8]
        self.decoder(self.embed(target), final[-1:] if self.kind == "final" else last[None])
        if self.kind == "sum":  # padding adds 0, unless the baseline model's weights are permuted
            self.pool(vectors.sum(1))
        else:
            self.pool((vectors * inside).sum(1) if self.kind != "mean" else vectors.mean(1))


def attach(kind: str, sites: dict[str, str]) -> Any:
    torch.manual_seed(0)
    return tp.attach(Reader(kind), sites)


def extract(model: Any, texts: list[str], out: Any, **options: Any) -> Any:
    return tp.extract(model, texts, out=out, vocabulary=lambda t: [*map(int, t.split())], **options)


@pytest.mark.parametrize("kind", ["final", "bidirectional", "mean", "sum", "masked"])
def test_vectors_are_those_of_a_text_alone(kind, tmp_path, capsys):
    """A line and the manifest say where batches have texts of one length; a module that masks is read as fast as before."""
    model = attach(kind, SITES)
    store = extract(model, TEXTS, tmp_path / "together")
    printed = capsys.readouterr().err
    assert "no targets: the decoder reads the texts themselves" in printed
    line = "of texts of one length" in printed
    assert line == (kind != "masked")
    assert ("batches" in store.manifest["model"]) == (kind in ("final", "bidirectional", "mean"))
    assert ("batches" in store.control.manifest["model"]) == line
    if kind == "masked":  # for widths 1, for both stores a test on two texts and a batch
        assert model.get_submodule("_foreign").n_calls == 1 + 2 * (3 + 1)
    alone = [extract(attach(kind, SITES), [t], tmp_path / t[0]) for t in TEXTS]
    for whole, parts in ((store, alone), (store.control, [part.control for part in alone])):
        for site in SITES:
            rows = np.concatenate([part.read(site) for part in parts])
            np.testing.assert_allclose(whole.read(site), rows, atol=1e-6)


def test_lengths_that_only_later_texts_have(tmp_path):
    """The first 1,000 texts, which are all compared, show no padding."""
    texts = ["1 2"] * 1000 + TEXTS
    sites = {"decoder.0.hidden": "decoder"}
    store = extract(attach("final", sites), texts, tmp_path / "long", control=False)
    alone = extract(attach("final", sites), TEXTS[:1], tmp_path / "alone", control=False)
    is_first = (store.tokens["sample"] == 1000).to_numpy()[store.tokens["side"] == "target"]
    np.testing.assert_allclose(store.read("decoder.0.hidden")[is_first], alone.read("decoder.0.hidden"), atol=1e-6)  # fmt: skip


@pytest.mark.parametrize(
    ("sites", "message"),
    [
        ({"encoder.embedding": "embed"}, r"called twice in one pass: give .*'NAME:input'"),
        (
            {"decoder.0.hidden": "gru"},
            r"decoder reads the start symbol and the target .*encoder\.…",
        ),
        ({"encoder.pooled": "pool"}, r"\[batch, d_model\] if its name ends in 'encoding'"),
    ],
)
def test_a_site_of_another_length_is_explained(sites, message, tmp_path):
    with pytest.raises(InputError, match=message):
        extract(attach("masked", sites), ["3 4 5"], tmp_path / "store")


def test_a_pooled_vector_is_asked_about_labels_of_texts(tmp_path):
    texts = [f"{a} {b}" for a in range(1, 7) for b in range(1, 9)]
    store = extract(attach("masked", SITES), texts, tmp_path / "store", control=False)
    tokens = store.tokens_of("encoder.0.hidden")
    store = store.with_labels("first", [texts[i][0] for i in tokens["sample"]])
    store = store.with_labels("digit", [*tokens["token"].astype(str)])
    rows = tp.probe(store, "first", sites="encoder.encoding", controls=[])
    assert rows["site"].iloc[0] == "encoder.encoding"
    with pytest.raises(InputError, match=r"no side of .* has both these sites and labels of digit"):
        tp.probe(store, "digit", sites="encoder.encoding", controls=[])
    with pytest.raises(InputError, match="names are of tokens"):
        tp.name_roles(store, tp.cluster(store, "encoder.encoding", k=2))


def test_a_map_without_an_axis_of_heads_is_of_one_head(tmp_path):
    module, site = nn.Sequential(nn.Embedding(10, 2), nn.Softmax(-1)), "encoder.0.self.attention"
    weights, no_map = (
        tp.attach(module, {site: path}, forward=lambda module, batch: module(batch[0]))
        for path in ("1", "0")
    )
    store = extract(weights, ["3 4", "5 6"], tmp_path / "store", control=False)
    expected = module(torch.tensor([5, 6])).detach().numpy()
    np.testing.assert_allclose(store.attention(site, 1)[0], expected, atol=1e-6)
    with pytest.raises(InputError, match="a map of attention is"):
        extract(no_map, ["3 4"], tmp_path / "no")


def test_targets_that_no_site_reads_are_not_reported(tmp_path, capsys):
    store = extract(attach("masked", {"encoder.0.hidden": "gru"}), TEXTS, tmp_path / "store")
    assert "target:" not in capsys.readouterr().err
    assert set(store.tokens["side"]) == {"source"}


def test_a_text_that_the_module_has_no_places_for_names_its_sample(tmp_path):
    """Both among the first texts, which are read padded and alone, and among later ones."""

    class Placed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.places = nn.Embedding(10, 8), nn.Embedding(4, 8)

        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            return self.words(ids) + self.places(torch.arange(ids.shape[1]))

    forward = lambda module, batch: module(batch[0])  # noqa: E731
    model = tp.attach(Placed(), {"encoder.0.hidden": ""}, forward=forward)
    for sample, texts in ((1, TEXTS), (1001, ["1 2"] * 1000 + TEXTS)):
        line = f"Placed cannot read sample {sample} of 7 ids .*: where it reads fewer, give max_tokens="
        with pytest.raises(InputError, match=line):
            extract(model, texts, tmp_path / f"{sample}", control=False)
    store = extract(model, TEXTS, tmp_path / "cut", control=False, max_tokens=4)
    assert len(store.tokens) == 2 + 4 + 3 + 4


TREEBANK = [
    ["1 Das DET", "2 Haus NOUN", "3 liegt VERB", "4-5 im _", "4 in ADP", "5 dem DET", "6 Tal NOUN", "7 . PUNCT"],
    ["1 Haus NOUN", "2 und CCONJ", "3 das DET", "4 Tal NOUN", "5 . PUNCT"],
]  # fmt: skip


@pytest.fixture
def treebank(tmp_path):
    """Two sentences without a blank before the period."""
    blocks = []
    for rows in TREEBANK:
        fields = [row.split() for row in rows]
        blocks.append([f"# newdoc id = d{len(blocks)}"])
        for n, word, tag in fields:
            after = "SpaceAfter=No" if word == "Tal" else "_"
            blocks[-1].append(f"{n}\t{word}\t_\t{tag}\t_\t_\t0\troot\t_\t{after}")
    file = tmp_path / "words.conllu"
    file.write_text("\n\n".join(map("\n".join, blocks)) + "\n\n")
    return tp.load_data(str(file))


@pytest.mark.parametrize("kind", ["list", "function", "pairs"])
def test_ids_of_a_treebanks_words_keep_labels_and_are_named_by_one_piece(kind, treebank, tmp_path):
    """Also of a contraction's words, which have one place; two unknown words are none of both, two cases of a word are that word."""
    known = {word: i for i, word in enumerate(["das", "in", "dem", "tal", "."], 2)}
    words_of = {example.source: example.sentence.words for example in treebank}
    find = lambda text: [known.get(word.lower(), 1) for word in words_of[text]]  # noqa: E731
    vocabulary = {
        "list": [find(text) for text in words_of],
        "function": find,
        "pairs": lambda text: [*zip(find(text), words_of[text], strict=True)],
    }[kind]
    forward = lambda module, batch: module(batch[0])  # noqa: E731
    model = tp.attach(nn.Sequential(nn.Embedding(10, 8)), {"encoder.embedding": "0"}, None, forward)
    out = tmp_path / "store"
    tokens = tp.extract(model, treebank, out=out, vocabulary=vocabulary, control=False).tokens
    named = ["in", "dem"] if kind == "pairs" else ["<3>", "<4>"]
    shown = ["das", "<1>", "<1>", *named, "Tal", ".", "<1>", "<1>", "das", "Tal", "."]
    assert tokens["token"].tolist() == shown
    if kind != "pairs":  # whose pieces are looked for in the text
        tags = [row.split()[2] for rows in TREEBANK for row in rows if "_" not in row]
        assert tokens["upos"].tolist() == tags
        assert tokens["word"].tolist() == [*range(7), *range(5)]


class Packed(nn.Module):
    """A bidirectional GRU over sequences that are packed, so that it reads no padding."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(10, 8, padding_idx=0)
        self.gru = nn.GRU(8, 8, batch_first=True, bidirectional=True)
        self.head = nn.Linear(16, 2)

    def forward(self, ids: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        packed = nn.utils.rnn.pack_padded_sequence(
            self.embed(ids), (ids != 0).sum(1), batch_first=True, enforce_sorted=False
        )
        return self.head(nn.utils.rnn.pad_packed_sequence(self.gru(packed)[0], True)[0])


def test_packed_sequences_are_read_and_changed_in_the_order_of_samples(tmp_path, capsys):
    torch.manual_seed(0)
    module = Packed()
    model = tp.attach(module, {"encoder.0.hidden": "gru", "encoder.0.input": "gru:input"})
    store = extract(model, TEXTS, tmp_path / "store")
    assert "of texts of one length" not in capsys.readouterr().err
    ids = [torch.tensor([[*map(int, text.split())]]) for text in TEXTS]
    states = torch.cat([module.gru(module.embed(row))[0][0] for row in ids])
    np.testing.assert_allclose(store.read("encoder.0.hidden"), states.detach(), atol=1e-6)
    inputs = torch.cat([module.embed(row)[0] for row in ids])
    np.testing.assert_allclose(store.read("encoder.0.input"), inputs.detach(), atol=1e-6)
    batch = nn.utils.rnn.pad_sequence([row[0] for row in ids], True)
    with tp.intervene(model, {"encoder.0.hidden": tp.interventions.zero()}):
        np.testing.assert_allclose(
            model(batch, batch).detach(), module.head.bias.detach().expand(4, 7, 2)
        )
