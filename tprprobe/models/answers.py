"""Exact match: a question is answered when every symbol of its answer is right.

Data of documents are summarized and scored instead, images captioned: the plug-ins "summaries" and
"captions" of the registry ``tprprobe.scores`` know how.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from tprprobe import plugins
from tprprobe.console import quiet, track
from tprprobe.data import load_data
from tprprobe.data.batching import Ragged
from tprprobe.data.dataset import ALL, Dataset, Example
from tprprobe.data.pairs import Pairs, encode_answers, encode_sources
from tprprobe.data.vocabularies.codecs import Codec
from tprprobe.errors import InputError
from tprprobe.files.writing import alone, write_file
from tprprobe.models.architectures import fingerprint
from tprprobe.models.decoding.generation import generate
from tprprobe.models.protocol import Language, Readable, require_head, require_vocabulary
from tprprobe.statistics import interval_text, wilson

EVALUATED_AT_ONCE, DECODED_AT_ONCE = 2048, 256  # questions
CAPTIONS, SUMMARIES = "captions", "summaries"  # scores of texts with many good answers
MAX_COUNTED = 50_000  # training examples whose targets are counted
CONTROL = "control"  # the column that tells whether the most frequent target of training is right
REFERENCES = "references"  # the column of captions that people wrote


class Scores(NamedTuple):
    """What a plug-in of ``tprprobe.scores`` is: how texts are written and scored.

    ``evaluate(model, data, vocabulary, **options)`` has a row an example, ``summarize(rows)`` the
    scores of all, ``sweep(model, data, recipe, out, resume)`` those under edits, and ``prepare(model,
    vocabulary, settings)`` makes a model ready for its first step. ``codec`` is the class of vocabulary that texts of
    this kind need: ``codec.of(parts, threshold)`` counts the words of data sets, ``codec.load(folder)`` reads it.
    """

    evaluate: Callable[..., pd.DataFrame]
    summarize: Callable[[pd.DataFrame], dict[str, object]]
    sweep: Callable[..., pd.DataFrame] | None = None
    prepare: Callable[..., None] = lambda *_: None
    codec: Any = None


def find_scores(kind: str) -> Scores:
    if kind not in plugins.find("scores"):
        raise InputError(f"no package that is installed scores {kind}")
    return plugins.find("scores")[kind].load()


@torch.no_grad()
def exact_matches(
    model: Language, pairs: Pairs
) -> tuple[Bool[np.ndarray, "sample"], Int[np.ndarray, "sample out"]]:
    """Flags and symbols by teacher forcing: right up to the end symbol, an argmax is what greedy decoding writes (induction on the prefix)."""
    pad, device = model.config.pad, model.device
    correct = np.zeros(len(pairs), bool)
    predicted = np.full((len(pairs), int(pairs.target.lengths.max()) - 1), pad)
    for indices in pairs.by_length(DECODED_AT_ONCE, model):
        source, target = (ids.to(device) for ids in pairs.batch(indices, pad))
        best = model.decode(target[:, :-1], model.encode(source))[0].argmax(-1)
        if (forced := getattr(model.config, "forced", None)) is not None:
            best[:, 0] = forced
        right = (best == target[:, 1:]) | (target[:, 1:] == pad)
        correct[indices.numpy(force=True)] = right.all(1).numpy(force=True)
        predicted[indices.numpy(force=True), : best.shape[1]] = best.numpy(force=True)
    return correct, predicted


def write_answers(
    model: Readable, pairs: Pairs, correct: Bool[np.ndarray, "sample"]
) -> list[list[int]]:
    """The ids that the model writes greedily, start and end symbol included; without an end symbol as many as the right answer has."""
    answers = [ids.tolist() for ids in pairs.target.values.split(pairs.target.lengths.tolist())]
    if not isinstance(model, Language) or not getattr(model, "head", "own"):
        return [ids[:1] for ids in answers]
    has_end = model.vocabulary is None or bool(model.vocabulary.target_frame[1])
    for indices in pairs.by_length(DECODED_AT_ONCE, model, torch.from_numpy(~correct)):
        n_right = max(1, int(pairs.target.lengths[indices].max()) - 1)
        limits = [] if has_end else [n_right]
        for sample, ids in _write_greedily(model, pairs, indices, *limits):
            n_ids = len(ids) if has_end else len(answers[sample]) - 1
            answers[sample] = [model.config.sos, *ids[:n_ids]]
    return answers


def continue_sources(model: Language, pairs: Pairs, max_length: int) -> Pairs:
    """The pairs whose sources end with what the model writes behind them greedily, an end symbol included."""
    sources = [ids.tolist() for ids in pairs.source.ids.split(pairs.source.lengths.tolist())]
    for indices in pairs.by_length(DECODED_AT_ONCE, model):
        for sample, ids in _write_greedily(model, pairs, indices, max_length):
            sources[sample] += ids
    return Pairs(Ragged.from_lists(sources), pairs.target, pairs.cut)


@torch.no_grad()
def _write_greedily(
    model: Language, pairs: Pairs, indices: Tensor, *limits: int
) -> Iterator[tuple[int, list[int]]]:
    """The numbers of samples, and what the model writes behind their sources, up to an end symbol; without the pads of a full window."""
    ends = {*getattr(model.config, "ends", ()), model.config.eos}
    source = pairs.source.padded(indices, model.config.pad).to(model.device)
    for sample, ids in zip(
        indices.tolist(), generate(model, source, *limits).tolist(), strict=True
    ):
        ids = [symbol for symbol in ids if symbol != model.config.pad or symbol in ends]
        end = next((i + 1 for i, symbol in enumerate(ids) if symbol in ends), len(ids))
        yield sample, ids[:end]


def evaluate(
    model: Readable, data: Dataset, vocabulary: Codec | None = None, **options: object
) -> pd.DataFrame:
    """One row per example: of questions exact match, of documents and images what their plug-in of ``tprprobe.scores`` tells."""
    able = require_head(model, "an evaluation of answers").eval()
    vocabulary = vocabulary or require_vocabulary(able)
    if vocabulary.reads_images:
        return find_scores(CAPTIONS).evaluate(able, data, vocabulary, **options)
    if not data.has_targets:
        raise InputError(f"{data.name} has no answers or summaries to score the model by")
    if not data[0].has_one_answer:
        return find_scores(SUMMARIES).evaluate(able, data, vocabulary, **options)
    if options:
        names = ", ".join(options)
        raise InputError(f"{names}: answers to questions are written greedily; leave this out")
    n_blocks = -(-len(data) // EVALUATED_AT_ONCE)
    blocks = track(data.examples(EVALUATED_AT_ONCE), f"answering {data.name}", n_blocks)
    return pd.concat([_answer(able, block, vocabulary) for block in blocks], ignore_index=True)


def _answer(model: Language, questions: list[Example], vocabulary: Codec) -> pd.DataFrame:
    pairs = encode_answers(questions, vocabulary)
    correct, _ = exact_matches(model, pairs)
    answers = write_answers(model, pairs, correct)
    return pd.DataFrame(
        {
            "module": [question.module for question in questions],
            "question": [question.source for question in questions],
            "answer": [question.target for question in questions],
            "prediction": [vocabulary.decode(ids).strip() for ids in answers],
            "correct": correct,
        }
    )


def add_control(rows: pd.DataFrame, data: Dataset) -> pd.DataFrame:
    """Rows of answers with a column of whether the training split's most frequent target (of the module) is right; as they are
    without that split.
    """
    try:
        with quiet():
            train = load_data(data.name, split="train", seed=data.seed)
    except InputError:
        return rows
    targets = [(example.module, example.target) for example in islice(train, MAX_COUNTED)]
    counts = pd.DataFrame(targets, columns=["module", "target"]).value_counts()
    frequent = counts.reset_index().drop_duplicates("module").set_index("module")["target"]
    return rows.assign(**{CONTROL: rows["answer"] == rows["module"].map(frequent)})


def describe_matches(model: Readable, data: Dataset) -> str:
    """How many answers are exactly right, beside the control."""
    rows = add_control(evaluate(model, data), data)
    score = interval_text(wilson(int(rows["correct"].sum()), len(rows)))
    split = "" if data.split == ALL else f"{data.split} "
    line = f"exact match on {len(rows):,} {split}pairs: {score}"
    if CONTROL not in rows:
        return line
    control = interval_text(wilson(int(rows[CONTROL].sum()), len(rows)))
    return f"{line}; control, always the most frequent target: {control}"


def next_words(model: Language, text: str, k: int = 10) -> pd.DataFrame:
    """The k most probable symbols behind a text, or at its first mask: word (blanks included), id, p."""
    vocabulary = require_vocabulary(model)
    if vocabulary.reads_images:
        raise InputError(f"{model.name} reads images: a typed text needs a model of texts")
    if k < 1:
        raise InputError(f"{k} words: ask for at least one")
    ids = encode_sources([text], vocabulary).ragged()
    source = ids.padded(torch.zeros(1).long(), model.config.pad)
    p = model.eval().predict(source.to(model.device))[0].cpu()
    best = p.topk(min(k, len(p)))
    words = [vocabulary.spell([i]) for i in best.indices.tolist()]
    return pd.DataFrame({"word": words, "id": best.indices.numpy(), "p": best.values.numpy()})


def exact_match(rows: pd.DataFrame) -> dict[str, Any]:
    """The share of right answers and of right ones by the control, their Wilson 95 % intervals and the number of questions."""
    summary = dict[str, Any]()
    for name, column in (("exact_match", "correct"), (CONTROL, CONTROL)):
        if column in rows:
            estimate = wilson(int(rows[column].to_numpy().sum()), len(rows))
            interval = [estimate.low, estimate.high]
            summary |= {name: estimate.value, f"{name}_interval": interval}
    return summary | {"n": len(rows)}


def save_evaluation(
    rows: pd.DataFrame,
    model: Readable,
    data: Dataset,
    out: str | Path,
    options: Mapping[str, object] = MappingProxyType({}),
) -> Path:
    """The summary in a folder (JSON), beside it every prediction: Parquet of questions, JSONL of documents."""
    folder = Path(out)
    stem = f"{model.name}.{data.name}.{data.split}".replace(":", "-").replace("/", "-")
    metadata = {
        "model": model.name,
        "architecture": getattr(model, "architecture", ""),
        "sha256": fingerprint(model),
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "data": data.name,
        "split": data.split,
        "seed": data.seed,
    }
    if is_scored(rows):
        metadata["decoding"] = dict(options)
    with alone(folder):
        return save_lines(rows, metadata | summarize(rows), folder, stem)


def is_scored(rows: pd.DataFrame) -> bool:
    """True for an evaluation of summaries or captions, false for one of answers to questions."""
    return "module" not in rows


def summarize(rows: pd.DataFrame) -> dict[str, object]:
    """Exact match over all questions and of each module; for documents and images every score."""
    if is_scored(rows):
        return find_scores(CAPTIONS if REFERENCES in rows else SUMMARIES).summarize(rows)
    groups = rows.groupby("module", sort=True)
    modules = {str(name): exact_match(group) for name, group in groups if name}
    return {**exact_match(rows), "modules": modules}


def save_lines(rows: pd.DataFrame, summary: Mapping[str, object], folder: Path, stem: str) -> Path:
    """Writes a summary (JSON) and beside it its rows: answers to questions as Parquet, texts as lines of JSON."""
    if is_scored(rows):
        lines = str(rows.to_json(orient="records", lines=True, force_ascii=False))
        write_file(folder / f"{stem}.jsonl", lines)
    else:
        write_file(folder / f"{stem}.parquet", rows.to_parquet())
    return write_file(folder / f"{stem}.json", json.dumps(summary, indent=1) + "\n")
