"""What a model is asked, a text or an image, and what it says: an answer, the next word, or which samples of a store are near."""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeGuard

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Tensor

from tprprobe.data import load_data
from tprprobe.data.dataset import Example
from tprprobe.data.documents.articlefiles import Article
from tprprobe.data.pairs import encode_examples
from tprprobe.data.vocabularies.codecs import Codec
from tprprobe.data.vocabularies.tokens import Tokens
from tprprobe.errors import InputError
from tprprobe.gold import evaluate
from tprprobe.interventions.batched_edits import score_variants
from tprprobe.models import load_model
from tprprobe.models.architectures import fingerprint
from tprprobe.models.checkpoint import default_data
from tprprobe.models.decoding.generation import generate
from tprprobe.models.protocol import CaptionModel, Language, Model, Readable, require_vocabulary
from tprprobe.site.hooks import PlacedEdit, capture, find_sites, intervene
from tprprobe.site.patterns import side_of
from tprprobe.store import Store
from tprprobe.store.samples import read_texts
from tprprobe.store.token_texts import visible

MAX_CHARACTERS, MAX_ROWS = 4000, 10  # characters of a text; the likeliest that are shown
UNEDITED, EDITED, WORDS_EXCHANGED = "as it is", "edited", "words exchanged"
ANSWER, NEXT_WORD, NEAREST_SAMPLE = "answer", "next word", "nearest sample"
Edits = Mapping[str, PlacedEdit]
EditedInput = tuple[Tensor, Edits]  # what is read, and edits meanwhile


@dataclass(frozen=True, eq=False)
class Prompt:
    """What a model was asked: its ids (or an image's features), the tokens that edits are of (of an image the words of its
    caption), those of the same word for each, and the ids of the answer that it writes, if it writes one.
    """

    model: Any
    text: str
    source: Tensor
    tokens: tuple[str, ...]
    words: tuple[tuple[int, ...], ...]
    answer: Int[Tensor, "1 target_seq"] | None = None
    was_cut: bool = False

    @property
    def is_image(self) -> bool:
        return isinstance(self.model, CaptionModel)

    def run(self, source: Tensor, *patterns: str) -> dict[str, Tensor]:
        """The tensors of sites while the model reads (and writes)."""
        target = source[:, :1] if self.answer is None else self.answer[:, :-1]
        with capture(self.model, patterns) as acts, torch.no_grad():
            self.model.run(source, target)
        return acts

    def write(self, source: Tensor, edits: Edits) -> Int[Tensor, "1 target_seq"]:
        """The answer under edits, start symbol first; of an image word by word, as exchanges of a decoder's positions are of whole passes."""
        longest = (require_vocabulary(self.model).most or ())[1:]
        with intervene(self.model, edits), torch.no_grad():
            if self.is_image and edits and self.answer is not None:
                ids = self.model(source, self.answer[:, :-1]).argmax(-1)
            else:
                ids = generate(self.model, source, *longest)
        return torch.cat([ids.new_full((1, 1), self.model.config.sos), ids], 1)


class ModelOutput(NamedTuple):
    """What a model may say (rows) with its probability or cosine in every way (columns); the row that is first in each."""

    table: pd.DataFrame
    first_rows: dict[str, int]


def load_readable(name: str | os.PathLike[str]) -> Readable:
    """The model of a checkpoint, by folder, name, or hub id, with a vocabulary."""
    model = load_model(name)
    require_vocabulary(model)
    return model


def reads_images(model: object) -> bool:
    """True for a model that writes captions."""
    return isinstance(model, CaptionModel)


def has_head(model: object) -> TypeGuard[Language]:
    """True if the model predicts symbols."""
    return isinstance(model, Language) and bool(getattr(model, "head", "own"))


def query_text(model: Readable, text: str) -> Prompt:
    """A text that a model reads; of a model that fills masks, with one behind it unless it has one."""
    vocabulary = require_vocabulary(model)
    text = " ".join(text.split())
    if reads_images(model):
        raise InputError(f"{model.name} writes captions of images: it cannot read a text")
    if not text or len(text) > MAX_CHARACTERS:
        reason = f"a text of {len(text)} characters: give at most {MAX_CHARACTERS}"
        raise InputError(reason if text else "an empty text: type a question or a text")
    text = add_mask(model, text)
    source, was_cut = encode(model, Article(text, ""))
    tokens = tuple(str(vocabulary.symbols[token_id]) for token_id in source[0].tolist())
    prompt = Prompt(model, text, source, tokens, group_words(text, vocabulary))
    answer = prompt.write(source, {}) if isinstance(model, Model) else None
    return replace(prompt, answer=answer, was_cut=was_cut)


def query_image(model: Readable, number: int) -> Prompt:
    """An image of the data that a model of captions was trained on."""
    name, split = default_data(model)
    image: Any = load_data(name, split=split, n=number + 1)[number]
    text = f"image {number} of {name} (its caption: ‘{image.captions[0]}’)"
    source, was_cut = encode(model, image)
    answer = Prompt(model, text, source, (), ()).write(source, {})
    symbols, ends = require_vocabulary(model).symbols, (model.config.eos, model.config.pad)
    ids = [token_id for token_id in answer[0, 1:].tolist() if token_id not in ends]
    tokens = tuple(str(symbols[token_id]) for token_id in ids)
    return Prompt(model, text, source, tokens, tuple((i,) for i in range(len(tokens))), answer, was_cut)  # fmt: skip


def add_mask(model: Readable, text: str) -> str:
    """The text; of a model that fills masks with a mask behind it, unless it has one."""
    vocabulary = model.vocabulary
    if getattr(model, "head", None) != "masked" or not isinstance(vocabulary, Tokens):
        return text
    mask = vocabulary.tokenizer.mask_token
    return text if mask in text else f"{text} {mask}."


def encode(model: Readable, example: Example) -> tuple[Tensor, bool]:
    pairs = encode_examples([example], require_vocabulary(model))
    source = pairs.source.padded(torch.tensor([0]), model.config.pad)
    return source.to(model.device), bool(pairs.cut[0])


def group_words(text: str, vocabulary: Codec) -> tuple[tuple[int, ...], ...]:
    """For every token of a text those of the same word or number; a sign is alone."""
    (places,) = vocabulary.place_sources([text])
    spans = [match.span() for match in re.finditer(r"\w+|[^\w\s]", text)]
    word = [[i for i, (a, b) in enumerate(spans) if a < end and start < b] for start, end in places]
    word_of_token = [match[0] if match else -1 - n for n, match in enumerate(word)]
    return tuple(
        tuple(j for j, other_word in enumerate(word_of_token) if other_word == word)
        for word in word_of_token
    )


def list_states(model: Readable) -> list[str]:
    """The sites of states: embeddings, and what every layer returns."""
    sites = {n: s for n, s in find_sites(model).items() if n.endswith((".embedding", ".hidden"))}
    return [n for n, s in sites.items() if side_of(n) == "source" and "head" not in s.axes]


def read_output(prompt: Prompt, inputs: Mapping[str, EditedInput], store: Store | None = None, exact: str = "") -> ModelOutput:  # fmt: skip
    """What the model says in every way: its answers (and the probability of an ``exact`` one), the next words, or of a model
    without a head the samples of a store that are near.
    """
    if prompt.answer is not None:
        return _read_answers(prompt, inputs, exact)
    if has_head(prompt.model):
        return _read_words(prompt, inputs)
    if store is None:
        raise InputError(
            f"{prompt.model.name} has no head: give a store with samples to be near to"
        )
    return _read_neighbors(prompt, inputs, store)


def _read_answers(prompt: Prompt, inputs: Mapping[str, EditedInput], exact: str) -> ModelOutput:
    written_ids = {edit: prompt.write(*edited_input) for edit, edited_input in inputs.items()}
    vocabulary = require_vocabulary(prompt.model)
    texts = {edit: vocabulary.decode(ids[0].tolist()) for edit, ids in written_ids.items()}
    answers = {texts[edit]: ids for edit, ids in written_ids.items()}
    first_row = {edit: list(answers).index(text) for edit, text in texts.items()}
    if exact and exact not in answers:
        target = encode_examples([Article("", exact)], vocabulary).target
        ids = target.padded(torch.tensor([0]), prompt.model.config.pad)
        answers[exact] = ids.to(prompt.model.device)
    table = pd.DataFrame({ANSWER: list(answers)})
    for edit, (source, edits) in inputs.items():
        scores = score_variants(prompt.model, source, list(answers.values()), [edits])
        table[edit] = scores.log_probability[0, :, 0].exp().double().numpy()
    return ModelOutput(table, first_row)


@torch.no_grad()
def _read_words(prompt: Prompt, inputs: Mapping[str, EditedInput]) -> ModelOutput:
    values, spell = {}, require_vocabulary(prompt.model).spell
    for edit, (source, edits) in inputs.items():
        with intervene(prompt.model, edits):
            values[edit] = prompt.model.predict(source)[0].double().cpu().numpy()
    return _rank(values, lambda i: {NEXT_WORD: visible(spell([i]).strip() or spell([i]))})


def _read_neighbors(prompt: Prompt, inputs: Mapping[str, EditedInput], store: Store) -> ModelOutput:
    """The samples of other texts whose mean states in the last layer are nearest, by cosine."""
    site, values = list_states(prompt.model)[-1], {}
    means, texts = mean_states(store, site)
    is_other = np.array([" ".join(text.split()) != prompt.text for text in texts])
    samples = np.flatnonzero((is_other | ~is_other.any()) & ~pd.Series(texts).duplicated())
    means = means[samples]
    unit = means / np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-12)
    for edit, (source, edits) in inputs.items():
        with intervene(prompt.model, edits):
            mean = prompt.run(source, site)[site][0].double().mean(0).cpu()
        values[edit] = unit @ (mean / mean.norm().clamp_min(1e-12)).numpy()
    return _rank(
        values,
        lambda i: {NEAREST_SAMPLE: visible(texts[samples[i]], 90), "sample": int(samples[i])},
    )


def _rank(
    values: Mapping[str, np.ndarray], describe: Callable[[int], dict[str, object]]
) -> ModelOutput:
    """The first of every way, what an edit changes most of the others, and the next; the largest in any way first."""
    edits = [edit for edit in (UNEDITED, EDITED, WORDS_EXCHANGED) if edit in values]
    largest = np.stack([np.argsort(-values[edit], kind="stable")[:MAX_ROWS] for edit in edits])
    change = np.abs(values.get(EDITED, values[UNEDITED]) - values[UNEDITED])
    change[largest[:2, 0]] = 0
    changed = [change.argmax()] if change.any() else []
    rows = np.array([*dict.fromkeys([*largest[:, 0], *changed, *largest.T.ravel()])][:MAX_ROWS])
    rows = rows[np.argsort(-np.max([values[edit][rows] for edit in edits], 0), kind="stable")]
    columns = {name: numbers[rows] for name, numbers in values.items()}
    table = pd.DataFrame([describe(int(i)) for i in rows]).assign(**columns)
    return ModelOutput(table, {edit: int(table[edit].argmax()) for edit in values})


def mean_states(store: Store, site: str) -> tuple[Float[np.ndarray, "sample d_model"], list[str]]:
    """The mean of every sample's states at a site of a store, and its text."""
    sample = store.tokens_of(site)["sample"].to_numpy()
    samples, sample_index = np.unique(sample, return_inverse=True)
    sums = np.zeros((len(samples), int(np.prod(store.specs[store.select(site)[0]].shape))))
    for rows, block in store.iterate(site):
        np.add.at(sums, sample_index[rows], block.reshape(len(block), -1))
    return sums / np.bincount(sample_index)[:, None], read_texts(store).loc[samples].tolist()


def exact_answer(prompt: Prompt) -> str:
    """The exact value of a question of arithmetic; empty for any other text."""
    try:
        return "" if prompt.answer is None or prompt.is_image else str(evaluate(prompt.text))
    except InputError:
        return ""


def find_reference(store: Store, text: str) -> str:
    """The right answer to a text that is one of the store's; empty for any other."""
    if "answer" not in store.tokens:
        return ""
    texts = read_texts(store)
    samples = texts.index[(texts == text).to_numpy()][:1]
    answers = store.tokens.loc[store.tokens["sample"].isin(samples), "answer"]
    return str(answers.iloc[0]) if len(answers) else ""


def name_measure(table: pd.DataFrame) -> tuple[str, str]:
    """What a model says, and by what that is measured."""
    column = str(table.columns[0])
    return column, "cosine" if column == NEAREST_SAMPLE else "probability"


def find_most_changed(table: pd.DataFrame, before: str, after: str) -> pd.Series | None:
    """The row that two columns differ in most, of all but what is first in one; None of answers, or where none differs."""
    change = np.abs(table[after].to_numpy() - table[before].to_numpy())
    change[[table[before].argmax(), table[after].argmax()]] = 0
    return table.iloc[change.argmax()] if change.any() and ANSWER not in table else None


def is_model_of(model: Readable, store: Store) -> bool:
    """True if a model has the weights that a store was made with, or the store does not say."""
    return store.model in (None, fingerprint(model))
