"""The text of the card of a checkpoint that summarizes."""

import platform
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from tprprobe.data.worlds.english.reportsets import is_english
from tprprobe.statistics import interval_text, read_interval
from tprprobe.training.recipes import Recipe

SHOWN = {
    "rouge1": "ROUGE-1",
    "rouge2": "ROUGE-2",
    "rougeL": "ROUGE-L",
    "meteor": "METEOR (no synonyms)",
    "exact_match": "exact match",
    "grammatical": "grammatical",
    "faithful": "true of the document",
    "words": "words",
    "repetition": "repeated trigrams",
    "novel1": "novel words",
    "novel2": "novel bigrams",
}
KINDS = {
    "discrete": "TP-Transformer whose roles come from a dictionary (TPT-d of jiang, 2021)",
    "continuous": "TP-Transformer with continuous roles (TPT-c in T5, as jiang 2021 has it)",
    "none": "T5 without roles, the baseline of jiang 2021",
}


UNDERTRAINED = (
    " **This model is worse than the document's first sentence**: it was trained for a short time on a CPU, "
    "and is here to be compared with its siblings and to be trained on."
)


def write_card(
    model: Any, recipe: Recipe, log: Sequence[Mapping[str, Any]], measured: Mapping[str, Any]
) -> str:
    """The card: what was trained on what, how, and every measured number."""
    parts = [
        _front(recipe),
        f"# {recipe.name}\n\n{_what(model, recipe)}",
        f"## Training\n\n{_training(model, recipe, log, measured)}\n\n{_curve(log)}",
        f"## Scores\n\n{_scores(recipe, measured)}",
        f"## Beside the others\n\n{_others(recipe, measured['differences'])}",
    ]
    if measured["roles"]:
        parts.append(f"## Roles\n\n{_roles(measured['roles'])}")
    return "\n\n".join(parts) + "\n"


def _front(recipe: Recipe) -> str:
    mix = recipe.stages[0].mix[0]
    return "\n".join(
        [
            "---",
            "license: apache-2.0",
            "library_name: tprprobe",
            "pipeline_tag: summarization",
            "tags: [tensor-product-representation, summarization, interpretability]",
            "tprprobe:",
            f"  data: {mix.data}",
            "  split: test",
            "---",
        ]
    )


def _what(model: Any, recipe: Recipe) -> str:
    size = sum(parameter.numel() for parameter in model.parameters())
    config = model.config
    layers = "+".join(map(str, config.n_layers))
    return (
        f"A {KINDS[config.roles]}, from scratch: {size:,} parameters in half precision, {layers} layers "
        f"of width {config.d_model}, {config.n_heads} heads, {len(model.vocabulary):,} sub-words. "
        f"{_data(recipe)} It is made to be looked into, not to be a good summarizer."
    )


def _data(recipe: Recipe) -> str:
    if is_english(recipe.stages[0].mix[0].data):
        return (
            "It summarizes short reports in the generated English of this package "
            "(`tprprobe.data.worlds.english`, Apache-2.0; nothing was downloaded) in one sentence."
        )
    return (
        "It writes titles of abstracts: metadata of arXiv papers of 2025-03 to 2026-07 (CC0 1.0, arXiv's terms "
        "for descriptive metadata; as collected in dw-dengwei/daily-arXiv-ai-enhanced), ASCII, 50 to 260 words, "
        "titles of 4 to 20. Give the folder with `train`, `dev` and `test.jsonl.gz` as `--data`."
    )


def _training(
    model: Any, recipe: Recipe, log: Sequence[Mapping[str, Any]], measured: Mapping[str, Any]
) -> str:
    last = log[-1]
    seconds, tokens = float(last["seconds"]), int(last["tokens"])
    return (
        f"`tprprobe train recipe.toml`: {recipe.steps:,} steps of {recipe.batch_size} documents "
        f"({int(last['examples']):,} of {measured['documents']:,}; {tokens:,} tokens), seed {recipe.seed}, "
        f"{recipe.optimizer.name}, label smoothing {recipe.label_smoothing}, dropout {model.config.dropout}, "
        f"{recipe.precision}; one CPU thread of an {platform.machine()} machine that also did other work "
        f"(no GPU), {seconds / 60:.0f} minutes, {tokens / seconds:,.0f} tokens/s. The three models of this data "
        "have the same vocabulary, seed, order of documents, steps and widths. Long texts "
        f"are cut: {measured['cut']} (test)."
    )


def _curve(log: Sequence[Mapping[str, Any]]) -> str:
    table = pd.DataFrame(log).astype({"step": int, "tokens": int, "value": float})
    table = table[table["split"].fillna("") == "dev"]
    wide = table.pivot_table(
        index=["step", "tokens"], columns="metric", values="value"
    ).reset_index()
    rows = (
        (f"{step:,}", f"{tokens:,}", f"{loss:.3f}", f"{match:.3f}")
        for step, tokens, loss, match in zip(
            wide["step"], wide["tokens"], wide["held_out_loss"], wide["exact_match"], strict=True
        )
    )
    head = ("step", "tokens", "loss on dev (nats a sub-word, unsmoothed)", "exact match on dev")
    return f"{markdown(head, rows)}\n\nThe whole curve is in `log.csv`."


def _scores(recipe: Recipe, measured: Mapping[str, Any]) -> str:
    columns = (
        {f"{split}, greedy": table for split, table in measured["scores"].items()}
        | {"test, beam 4": measured["beam"]}
        | measured["baselines"]
    )
    rows = [
        (label, *(_cell(table, name) for table in columns.values()))
        for name, label in SHOWN.items()
        if name in measured["scores"]["test"].index
    ]
    rows.append(("documents", *(f"{int(table['n'].max()):,}" for table in columns.values())))
    text = (
        "Held-out documents, means with 95 % intervals over documents (bootstrap; of shares Wilson's). ROUGE "
        "is F1 of `rouge-score` with stems. Beam: length penalty 2.0, no trigram twice. Baselines: the "
        "document's first sentence, and a random one."
    )
    if is_english(recipe.stages[0].mix[0].data):
        text += (
            " `compositional` has pairs of argument structure and construction that training never shows. Documents "
            "determine their summary, so exact match counts; whether a summary is grammatical and true of the document "
            "the grammar itself says."
        )
    first, own = measured["baselines"]["lead-1"], measured["scores"]["test"]
    if own.loc["rougeL", "value"] < first.loc["rougeL", "value"]:
        text += UNDERTRAINED
    return f"{text}\n\n{markdown(('', *columns), rows)}"


def _number(table: Any, row: str, column: str) -> float:
    return float(table.loc[row, column])


def _cell(table: Any, name: str) -> str:
    return interval_text(read_interval(table.loc[name]))


def _p(value: float) -> str:
    return f"{value:.3f}" if value >= 0.0005 else "< 0.001"


def _others(recipe: Recipe, differences: Mapping[str, pd.DataFrame]) -> str:
    rows = [
        (
            f"{recipe.name} − {other}",
            SHOWN[name],
            _cell(table, name),
            _p(_number(table, name, "p")),
        )
        for other, table in differences.items()
        for name in ("rouge1", "rouge2", "rougeL", "exact_match")
    ]
    head = ("difference", "score", "95 % interval", "p")
    return (
        "Paired by document on `test`, greedy. Intervals draw documents; p is theirs, for exact match McNemar's. "
        "One training run each: another seed may order the models otherwise. jiang reports TPT-d before the "
        "Transformer and TPT-c last on XSum, arXiv and Wikihow.\n\n" + markdown(head, rows)
    )


def _roles(found: Mapping[str, pd.DataFrame]) -> str:
    peaks = [
        (
            row["sublayer"],
            f"{row['n_distributions']:,}",
            f"{row['above_98']:.3f}",
            f"{row['above_90']:.3f}",
            f"{row['entropy']:.2f}",
            f"{row['used_roles']:.1f} of {row['n_roles']:.0f}",
        )
        for row in found["discreteness"].to_dict("records")
    ]
    head = (
        "sub-layers",
        "distributions",
        "max > .98",
        "max > .90",
        "entropy (bits)",
        "roles used by a head",
    )
    effect = found["effect"]
    names = {"loss": "loss (nats a sub-word)"} | {
        k: SHOWN[k] for k in ("rouge1", "rouge2", "rougeL", "exact_match")
    }
    rows = [
        (
            label,
            f"{_number(effect, name, 'soft'):.3f}",
            f"{_number(effect, name, 'one-hot'):.3f}",
            f"{_number(effect, name, 'value'):+.3f}" if name == "loss" else _cell(effect, name),
        )
        for name, label in names.items()
    ]
    return (
        "Role distributions of teacher-forced passes over 500 test documents (padding left out). jiang finds "
        "over 90 % of them with a maximum above .98, on XSum.\n\n"
        f"{markdown(head, peaks)}\n\n"
        "The functional test: every role distribution of the model made one-hot, on the same documents.\n\n"
        + markdown(("", "as trained", "one-hot", "difference"), rows)
    )


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
