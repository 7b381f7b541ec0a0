"""Ids, cuts and places are those of a model's own tokenizer, of every kind; a text and its answer are one text."""

import numpy as np
import pytest
import torch
import transformers
from planted.tokenizers import KINDS, train_bytes

import tprprobe as tp
from tprprobe.data.vocabularies.tokens import BEHIND, DECODER, MASKS, Tokens
from tprprobe.errors import InputError
from tprprobe.models.answers import evaluate, next_words
from tprprobe.models.huggingface.pretrained import attach_layers

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
TEXTS = [
    "the cat sees a dog", "Über naïve 犬 don't, 3.5%", "  two  blanks\tthe dog ", "<s> the </s> [SEP] <unk> dog", "a",
]  # fmt: skip


def lists(flat):
    return [ids.tolist() for ids in np.split(flat.values, flat.lengths.cumsum()[:-1])]


def vocabulary_of(tokenizer, limit=None, writes=BEHIND, **options):
    start = {"sos": 2, "eos": 2} | options
    return Tokens(tokenizer, -1, rows=10**6, limit=limit, room=limit, writes=writes, **start)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("side", ["right", "left"])
def test_sources_are_what_the_tokenizer_writes_and_cuts(kind, side):
    """TransformerLens #369 and #1772, lm-evaluation-harness #2781, llama.cpp #24428, transformers #3788 and #22313."""
    tokenizer = KINDS[kind]()
    tokenizer.truncation_side = side
    for limit in (None, 7):
        tokenizer.model_max_length = limit or 10**30
        expected = tokenizer(TEXTS, truncation=limit is not None)["input_ids"]
        vocabulary = vocabulary_of(tokenizer, limit)
        sources, places = vocabulary.encode_sources(TEXTS), vocabulary.place_sources(TEXTS)
        assert lists(sources) == expected
        assert [len(sequence) for sequence in places] == [len(sequence) for sequence in expected]
        assert sources.cut == (
            sum(len(sequence) > 7 for sequence in tokenizer(TEXTS)["input_ids"]) if limit else 0
        )
    prefix, suffix = vocabulary.source_frame
    assert expected[0][: len(prefix)] == [*prefix]
    assert expected[0][len(expected[0]) - len(suffix) :] == [*suffix]


@pytest.mark.parametrize("kind", ["bert", "t5", "xlnet", "deberta", "mbart", "template"])
def test_words_that_are_known_are_read_as_the_tokenizer_reads_words(kind):
    """Tokenizers that mark where words begin, or that divide at blanks; byte-level ones glue words together."""
    tokenizer, words = KINDS[kind](), TEXTS[0].split()
    expected = tokenizer(words, is_split_into_words=True)["input_ids"]
    assert lists(vocabulary_of(tokenizer).encode_sources([" ".join(words)])) == [expected]


LABELS = {  # decoder's start symbol, and what stands before a text behind it
    "t5": ("<pad>", []), "roberta": ("</s>", ["<s>"]), "mbart": ("ro_RO", []), "mbart50": ("</s>", ["ro_RO"]),
    "nllb": ("</s>", ["fra_Latn"]),
}  # fmt: skip


@pytest.mark.parametrize("kind", LABELS)
def test_a_decoder_reads_what_transformers_shifts_to_the_right(kind):
    tokenizer, (start, before) = KINDS[kind](), LABELS[kind]
    symbols = {"sos": tokenizer.convert_tokens_to_ids(start), "eos": tokenizer.eos_token_id}
    vocabulary = vocabulary_of(tokenizer, writes=DECODER, **symbols)
    (ids,) = lists(vocabulary.encode_targets(["the cat"]))
    labels = tokenizer(text_target="the cat")["input_ids"]
    # mBART's labels end with the language that leads them, which it does not write
    assert ids == ([labels[-1], *labels[:-1]] if kind == "mbart" else [symbols["sos"], *labels])
    assert ids[-1] == tokenizer.eos_token_id
    assert tokenizer.convert_ids_to_tokens(vocabulary.begun) == before
    assert vocabulary.decode(ids) == tokenizer.decode(vocabulary.encode("the cat"))
    forced = vocabulary_of(tokenizer, writes=DECODER, forced=5, **symbols)
    assert lists(forced.encode_targets(["the cat"]))[0][:2] == [symbols["sos"], 5]
    assert forced.begun == [5]


def test_an_answer_is_what_the_whole_text_has_behind_the_source():
    """lm-evaluation-harness #531 (a blank), #1053 (a symbol across both), a text that ends in a blank; catwalk #156."""
    symbols, merges = train_bytes("is: C is: C is: C", "the key the key", special=["<end>"])
    tokenizer = transformers.GPT2Tokenizer(
        vocab=symbols, merges=merges, bos_token="<end>", eos_token="<end>", unk_token="<end>"
    )
    vocabulary = vocabulary_of(tokenizer, sos=0, eos=0)
    for text, answer, joined in [
        ("the key", "is", "the key is"), ("the key ", "is", "the key is"), ("the key", " is", "the key is"),
        ("is:", "C", "is: C"), ("the", "key is", "the key is"), ("the key is", "", "the key is"),
    ]:  # fmt: skip
        source, target = (
            lists(encoded)[0] for encoded in vocabulary.encode_answers([text], [answer])
        )
        assert source + target[1:] == tokenizer(joined)["input_ids"], text
        assert target[0] == 0
        assert vocabulary.decode(target) == tokenizer.decode(target[1:])
    short_window = vocabulary_of(tokenizer, limit=4, sos=0, eos=0)
    source, target = short_window.encode_answers(["the key the key the key"], ["is"])
    assert source.cut == 1
    assert len(source.values) + len(target.values) - 1 <= 4
    with pytest.raises(InputError, match="and the model reads 4 with the text"):
        short_window.encode_answers(["the"], ["the key the key the key is: C"])


@pytest.mark.parametrize("kind", ["llama", "t5", "xlnet", "roberta"])
def test_symbols_around_a_text_are_no_part_of_an_answer(kind):
    tokenizer = KINDS[kind]()
    vocabulary = vocabulary_of(tokenizer)
    source, target = (
        lists(encoded)[0] for encoded in vocabulary.encode_answers(["the cat"], ["sees"])
    )
    joined_ids = tokenizer("the cat sees")["input_ids"]
    assert source + target[1:] == joined_ids[: len(source) + len(target) - 1]
    assert not {*target[1:]} & {*tokenizer.all_special_ids}
    assert tokenizer.decode(target[1:]).strip() == "sees"


@pytest.mark.parametrize("kind", ["bert", "roberta"])
def test_an_answer_at_a_mask_is_what_the_filled_text_has_there(kind):
    tokenizer = KINDS[kind]()
    vocabulary, mask = vocabulary_of(tokenizer, writes=MASKS), tokenizer.mask_token
    _, target = vocabulary.encode_answers([f"the {mask} sees a dog"], ["cat"])
    filled_ids, ids = tokenizer("the cat sees a dog")["input_ids"], target.values.tolist()[1:]
    assert filled_ids[2:][: len(ids)] == ids
    assert tokenizer.decode(ids).strip() == "cat"
    _, of_two_masks = vocabulary.encode_answers([f"{mask} cat sees {mask}"], ["dog"])
    assert of_two_masks.values.tolist()[1:] == vocabulary.encode("dog")


@pytest.fixture(scope="module")
def writer():
    """A random GPT-2 of 12 positions whose start, end and unknown symbols are one."""
    symbols, merges = train_bytes("the key here is", special=["<end>"])
    tokenizer = transformers.GPT2Tokenizer(
        vocab=symbols, merges=merges, bos_token="<end>", eos_token="<end>", unk_token="<end>"
    )
    config = transformers.GPT2Config(
        vocab_size=len(tokenizer),
        n_embd=16,
        n_layer=2,
        n_head=2,
        n_positions=12,
        bos_token_id=0,
        eos_token_id=0,
    )
    torch.manual_seed(0)
    module = transformers.GPT2LMHeadModel(config).eval()
    module.transformer.wte.weight.data.mul_(40)
    return attach_layers(module, tokenizer, "gpt2")


def test_a_window_ends_what_is_written_whoever_stands_beside(writer, capsys):
    sources = [
        writer.vocabulary.tokenizer(text)["input_ids"]
        for text in ("the", "the key here is the key here")
    ]
    singles = [
        writer.generate(torch.tensor([ids]), 30, min_length=29)[0].tolist() for ids in sources
    ]
    assert [len(ids) + len(answer) for ids, answer in zip(sources, singles, strict=True)] == [
        12,
        12,
    ]
    width = max(map(len, sources))
    batch = torch.tensor([ids + [-1] * (width - len(ids)) for ids in sources])
    for beam in (1, 2):
        together = writer.generate(batch, 30, min_length=29, beam=beam).tolist()
        single = [
            writer.generate(torch.tensor([ids]), 30, min_length=29, beam=beam)[0].tolist()
            for ids in sources
        ]
        assert [row[: len(answer)] for row, answer in zip(together, single, strict=True)] == single
    with tp.capture(writer, "layers.1.hidden"):
        assert writer.generate(batch, 30).shape[1] <= 12 - width
    assert "ends where its window does" in capsys.readouterr().err
    full = torch.tensor([[*range(3, 15)]])
    assert writer.generate(full, 30).shape == (
        1,
        1,
    )  # what is predicted behind the last needs no position


def test_what_was_written_is_printed_and_counted(writer, make_data):
    text = "the key here"
    ids = writer.vocabulary.tokenizer(text, return_tensors="pt")["input_ids"]
    answer = writer.vocabulary.spell(writer.generate(ids, 1)[0].tolist())
    rows = evaluate(writer, make_data([(text, answer), (text, "xyz")]))
    assert rows["prediction"].ne("").all()
    assert next_words(writer, text)["word"].iloc[0] == answer


def passes_of(model, call):
    calls = []
    hook = model.module.base_model.register_forward_pre_hook(lambda *_: calls.append(1))
    call()
    hook.remove()
    return len(calls)


def test_texts_without_targets_are_not_answered(writer, make_data, tmp_path):
    texts = ["the key", "the key here is", "here"]
    n_passes = {}
    for name, data in (("texts", texts), ("pairs", make_data([(text, "is") for text in texts]))):
        n_passes[name] = passes_of(
            writer,
            lambda name=name, data=data: tp.extract(
                writer, data, "*.hidden", tmp_path / name, control=False
            ),
        )
    assert n_passes["texts"] == 1  # a batch
    assert n_passes["pairs"] > 1
    stores = {name: tp.open_store(tmp_path / name) for name in n_passes}
    assert not {"answer", "prediction", "correct"} & {*stores["texts"].tokens}
    assert {"answer", "prediction", "correct"} <= {*stores["pairs"].tokens}
    assert not stores["texts"].has_answers
    site = "layers.1.hidden"
    assert (stores["texts"].read(site) == stores["pairs"].read(site)).all()
    assert {*stores["texts"].tokens["side"]} == {"source"}
    for store in stores.values():
        ids = store.tokens_of(site).groupby("sample")["id"].apply(list).tolist()
        assert ids == writer.vocabulary.tokenizer(texts)["input_ids"]


def test_a_context_is_as_long_as_asked_and_long_texts_are_cut_or_divided(
    writer, make_data, tmp_path, capsys
):
    texts = ["the key here is the key here is the key", "the key"]
    truncated = tp.extract(writer, texts, "*.hidden", tmp_path / "cut", control=False, max_tokens=4)
    assert (
        "1 texts are too long and cut (`tprprobe extract --pack` divides them)"
        in capsys.readouterr().err
    )
    assert truncated.tokens.groupby("sample").size().max() == 4
    assert truncated.manifest["max_tokens"] == 4
    packed = tp.extract(
        writer, texts, "*.hidden", tmp_path / "packed", control=False, max_tokens=4, pack=True
    )
    assert "longer" not in capsys.readouterr().err
    samples = packed.tokens.drop_duplicates("sample")
    assert " ".join(samples["question"][samples["document"] == "text 0"]) == texts[0]
    assert packed.tokens.groupby("sample").size().max() <= 4
    with pytest.raises(InputError, match="pack divides texts, and listed has words"):
        tp.extract(writer, make_data([("the", "key")]), None, tmp_path / "no", pack=True)
    with pytest.raises(InputError, match="max_tokens = 0"):
        tp.extract(writer, texts, None, tmp_path / "none", max_tokens=0)


@pytest.mark.parametrize("way", ["pairs", "two functions"])
def test_a_function_may_name_its_symbols(tmp_path, way):
    """The words of a stranger's module are shown, and stand where the text has them."""

    def pieces(text):
        return [symbol for word in text.split() for symbol in (word[:2], word[2:]) if symbol]

    names = ["", *dict.fromkeys(pieces("seeing dogs see dogs"))]

    def ids(text):
        return [names.index(symbol) for symbol in pieces(text)]

    vocabulary = {
        "pairs": lambda text: [*zip(ids(text), pieces(text), strict=True)],
        "two functions": (ids, names.__getitem__),
    }[way]
    net = torch.nn.Sequential(torch.nn.Embedding(300, 4), torch.nn.Tanh())
    model = tp.attach(net, {"layers.0.hidden": "1"}, forward=lambda net, batch: net(batch[0]))
    texts = ["seeing dogs", "see  dogs"]
    store = tp.extract(model, texts, None, tmp_path / "s", control=False, vocabulary=vocabulary)
    table = store.tokens_of("layers.0.hidden")
    assert table["token"].tolist() == ["se", "eing", "do", "gs", "se", "e", "do", "gs"]
    assert table["word"].tolist() == [0, 0, 1, 1, 0, 0, 1, 1]
    decoder = tp.attach(net, {"decoder.0.hidden": "1"}, forward=lambda net, batch: net(batch[1]))
    (tmp_path / "pairs.tsv").write_text("source\ttarget\nsee\tdogs\n")
    pairs, started = tmp_path / "pairs.tsv", way == "two functions"
    vocabulary = (*vocabulary, 2) if started else vocabulary
    store = tp.extract(decoder, pairs, None, tmp_path / "t", control=False, vocabulary=vocabulary)
    symbols = store.tokens_of("decoder.0.hidden")["token"].tolist()
    assert symbols == [names[2] if started else "<0>", "do", "gs"]
    with pytest.raises(InputError, match="start id 300: the embedding has 300 rows"):
        tp.extract(decoder, pairs, None, tmp_path / "u", vocabulary=(ids, str, 300))


def test_a_tokenizer_of_bytes_without_files_is_read_from_a_folder(tmp_path):
    sizes = {"d_model": 8, "d_kv": 4, "d_ff": 8, "num_layers": 1, "num_heads": 2}
    config = transformers.T5Config(vocab_size=384, decoder_start_token_id=0, **sizes)
    transformers.T5ForConditionalGeneration(config).save_pretrained(tmp_path / "byt5")
    transformers.ByT5Tokenizer().save_pretrained(tmp_path / "byt5")
    model = tp.load_model(f"hf:{tmp_path / 'byt5'}")
    store = tp.extract(model, ["I see é"], "encoder.*.hidden", tmp_path / "store", control=False)
    words = store.tokens.query("side == 'source'")["word"].tolist()
    assert words == [0, -1, 1, 1, 1, -1, 2, 2, -1]
