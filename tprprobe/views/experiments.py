"""Experiments with one question, text or image: an edit, and the new answer beside the old and the exact one.

The edits are those of `tprprobe.interventions`; what is predicted is arithmetic where the text is a question
of it, else what the model itself writes of the changed text.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import torch
from jaxtyping import Int, Shaped
from torch import Tensor

from tprprobe.analyses.clustering import Clusters
from tprprobe.data import load_data
from tprprobe.data.pairs import encode_examples, encode_texts
from tprprobe.errors import InputError, unknown
from tprprobe.gold import evaluate
from tprprobe.interventions.edits import exchange, set_to, swap, zero
from tprprobe.interventions.exchanges import vectors_of
from tprprobe.interventions.number_pairs import exchanged
from tprprobe.interventions.variants import score_variants
from tprprobe.models.checkpoint import default_data
from tprprobe.models.decoding.generation import generate
from tprprobe.models.protocol import CaptionModel, Model, require_vocabulary
from tprprobe.site.hooks import PlacedEdit, find_sites, intervene
from tprprobe.views.role_fits import SampleStates, add_change
from tprprobe.views.safe_text import visible

Edits = Mapping[str, PlacedEdit]
ENCODER = {
    "roles": ("role",),
    "fillers": ("filler",),
    "roles and fillers": ("role", "filler"),
}
CAPTION = {
    "unbinding vectors": ("word.unbinding",),
    "sentence TPRs": ("sentence.tpr",),
    "both": ("word.unbinding", "sentence.tpr"),
}
ARITHMETIC, MODEL, WORDS = (
    "arithmetic",
    "the model’s answer to the changed text",
    "the exchange of the words",
)


@dataclass(frozen=True, eq=False)
class Posed:
    """What a model was asked: the ids (or features) of the source, the tokens that edits are of (of an image the
    words of the caption), and the ids of the answer that it writes, start symbol first.
    """

    model: Model
    text: str
    source: Shaped[Tensor, "1 source"]
    tokens: tuple[str, ...]
    answer: Int[Tensor, "1 target_seq"]

    @property
    def is_image(self) -> bool:
        return isinstance(self.model, CaptionModel)

    @property
    def told(self) -> str:
        """The answer as text."""
        return self.say(self.answer)

    @property
    def kinds(self) -> dict[str, tuple[str, ...]]:
        """The kinds of vectors that can be exchanged, with the last words of their sites."""
        names = list(find_sites(self.model))
        if self.is_image:
            return {kind: sites for kind, sites in CAPTION.items() if {*sites} <= {*names}}
        known = {vectors_of(name) for name in names}
        return {kind: ends for kind, ends in ENCODER.items() if {*ends} <= known}

    @property
    def heads(self) -> list[tuple[str, int]]:
        """The sites and heads that can be ablated."""
        ends = (".role", ".filler", ".value")
        found = {name: site for name, site in find_sites(self.model).items() if "head" in site.axes}
        end = next((each for each in ends if any(name.endswith(each) for name in found)), None)
        n = range(self.model.n_heads)
        return [(name, head) for name in found if end and name.endswith(end) for head in n]

    def say(self, ids: Tensor) -> str:
        return require_vocabulary(self.model).decode(ids[0].tolist())

    def write(self, source: Tensor, edits: Edits) -> Int[Tensor, "1 target_seq"]:
        """The answer under edits, start symbol first; of an image its caption word by word, each after the own
        caption's words, as exchanges of a decoder's positions are of whole passes.
        """
        own, vocabulary = self.model, require_vocabulary(self.model)
        longest: dict[str, Any] = {"max_length": vocabulary.most[1]} if vocabulary.most else {}
        with intervene(own, edits), torch.no_grad():
            if self.is_image and edits:
                ids = own(source, self.answer[:, :-1]).argmax(-1)
            else:
                ids = generate(own, source, **longest)
        return torch.cat([ids.new_full((1, 1), own.config.sos), ids], 1)

    def probability(self, source: Tensor, answers: Sequence[Tensor], edits: Edits) -> list[float]:
        """The probabilities of whole answers."""
        found = score_variants(self.model, source, answers, [edits])
        return found.log_probability[0, :, 0].exp().tolist()


@dataclass(frozen=True)
class Change:
    """An edit in words, and the text that it should be like: the positions of tokens that change places, or the
    token that becomes another.
    """

    told: str
    edits: Edits
    first: tuple[int, ...] = ()
    second: tuple[int, ...] = ()
    filler: str | None = None


def reads_images(model: Model) -> bool:
    """True for a model that writes captions."""
    return isinstance(model, CaptionModel)


def pose(model: Model, text: str) -> Posed:
    """A text that a model is asked.

    Raises:
        InputError: an empty text, one that the vocabulary cannot say, or a model of images.
    """
    text, vocabulary = " ".join(text.split()), require_vocabulary(model)
    if reads_images(model):
        raise InputError(f"{model.name} writes captions of images: a text cannot be put to it")
    if not text:
        raise InputError("an empty text: type a question or a text")
    source = encode_texts([text], [""], vocabulary).source.padded(
        torch.tensor([0]), model.config.pad
    )
    ids = source[0].tolist()
    tokens = tuple(str(vocabulary.symbols[each]) for each in ids)
    posed = Posed(
        model, text, source.to(model.device), tokens, source.new_full((1, 1), model.config.sos)
    )
    return _answered(posed)


def pose_image(model: Model, number: int) -> Posed:
    """An image of the data that a model of captions was trained on.

    Raises:
        InputError: it reads no images.
    """
    if not isinstance(model, CaptionModel):
        raise InputError(f"{model.name} reads no images")
    name, split = default_data(model)
    image = load_data(name, split=split, n=number + 1)[number]
    source = encode_examples([image], require_vocabulary(model)).source.padded(torch.tensor([0]), 0)
    empty = torch.full((1, 1), model.config.sos)
    posed = _answered(Posed(model, f"image {number} of {name}", source.to(model.device), (), empty))
    ids = [each for each in posed.answer[0, 1:].tolist() if each != model.config.eos]
    words = tuple(str(require_vocabulary(model).symbols[each]) for each in ids)
    told = f"{posed.text} (its caption: ‘{image.captions[0]}’)"
    return Posed(model, told, posed.source, words, posed.answer)


def _answered(posed: Posed) -> Posed:
    answer = posed.write(posed.source, {})
    return Posed(posed.model, posed.text, posed.source, posed.tokens, answer)


def exact_answer(posed: Posed) -> str:
    """The exact value of a question of arithmetic; empty for any other text."""
    try:
        return "" if posed.is_image else str(evaluate(posed.text))
    except InputError:
        return ""


def exchange_tokens(posed: Posed, kind: str, first: int, second: int) -> Change:
    """The exchange of two tokens' vectors in all layers; of two numbers of as many digits, of all their digits.

    Raises:
        InputError: no such kind or token, or the same token twice.
    """
    if kind not in posed.kinds:
        raise unknown("kind of vectors", kind, posed.kinds)
    if first == second or not all(0 <= at < len(posed.tokens) for at in (first, second)):
        raise InputError(f"choose two of the tokens 0 to {len(posed.tokens) - 1}")
    spans = [find_number(posed.tokens, at) for at in (first, second)]
    if len(spans[0]) != len(spans[1]) or spans[0] == spans[1]:
        spans = [(first,), (second,)]
    edit = swap(exchange([spans[0]], [spans[1]], len(posed.tokens)))
    ends = posed.kinds[kind]
    sites = [
        name for name in find_sites(posed.model) if name in ends or (vectors_of(name) or "") in ends
    ]
    texts = ["".join(visible(posed.tokens[at]) for at in span) for span in spans]
    told = f"{kind} of ‘{texts[0]}’ ({spans[0][0]}) and ‘{texts[1]}’ ({spans[1][0]}) exchanged"
    return Change(told, dict.fromkeys(sites, edit), spans[0], spans[1])


def find_number(tokens: Sequence[str], at: int) -> tuple[int, ...]:
    """The positions of the digits around a digit; of another token its own."""
    if not tokens[at].isdigit():
        return (at,)
    low = high = at
    while low > 0 and tokens[low - 1].isdigit():
        low -= 1
    while high + 1 < len(tokens) and tokens[high + 1].isdigit():
        high += 1
    return tuple(range(low, high + 1))


def ablate_head(site: str, head: int) -> Change:
    """One head's vectors of a site replaced by 0: it binds nothing."""
    return Change(f"{site}, head {head}, replaced by 0", {site: zero(heads=[head])})


def snap_role(posed: Posed, roles: Clusters, position: int, cluster: int) -> Change:
    """The role of a token replaced by the center of a cluster.

    Raises:
        InputError: no such token or cluster.
    """
    if not 0 <= position < len(posed.tokens) or not 0 <= cluster < roles.k:
        raise InputError(
            f"choose a token to {len(posed.tokens) - 1} and a cluster to {roles.k - 1}"
        )
    center = torch.as_tensor(roles.centers[cluster] * roles.scale + roles.mean, dtype=torch.float32)
    there = torch.arange(len(posed.tokens))[None] == position
    shape = (-1,) if roles.head is not None else _shape(posed, roles.site)
    heads = None if roles.head is None else [roles.head]
    edit = set_to(center.reshape(shape), heads=heads, positions=there)
    where = roles.site if roles.head is None else f"{roles.site}, head {roles.head}"
    sign = visible(posed.tokens[position])
    return Change(
        f"role of ‘{sign}’ ({position}) snapped to cluster {cluster} of {where}", {roles.site: edit}
    )


def _shape(posed: Posed, site: str) -> tuple[int, ...]:
    axes = find_sites(posed.model)[site].axes
    return (posed.model.n_heads, -1) if "head" in axes else (-1,)


def change_filler(posed: Posed, states: SampleStates, position: int, filler: str) -> Change:
    """Another filler bound at the role of a token, in a decomposition of the states.

    Raises:
        InputError: no such token, or a filler that the decomposition does not know.
    """
    by = states.change(position, filler)
    told = f"filler of ‘{visible(posed.tokens[position])}’ ({position}) changed to ‘{visible(filler)}’ in {states.fit.site}"
    return Change(told, {states.fit.site: add_change(by)}, (position,), (), filler)


def try_change(posed: Posed, change: Change) -> dict[str, Any]:
    """One row: the old answer, the new one and the predicted one, with their probabilities before and after."""
    new = posed.write(posed.source, change.edits)
    predicted, by = _predict(posed, change)
    answers = [posed.answer, new, *([] if predicted is None else [predicted])]
    before, after = (
        [*posed.probability(posed.source, answers, edits), float("nan")]
        for edits in ({}, change.edits)
    )
    told = "" if predicted is None else posed.say(predicted)
    return {
        "edit": change.told,
        "old answer": posed.told,
        "its p": before[0],
        "p now": after[0],
        "new answer": posed.say(new),
        "p of it": after[1],
        "predicted": told,
        "by": by,
        "p of the predicted before": before[2],
        "after": after[2],
        "as predicted": None if predicted is None else posed.say(new) == told,
        "asked": visible(posed.text, 120),
    }


def _predict(posed: Posed, change: Change) -> tuple[Tensor | None, str]:
    """The answer that an edit should give, and what says so; None where nothing is predicted."""
    if not change.first:
        return None, ""
    if posed.is_image:
        words = posed.answer.clone()
        one, other = change.first[0] + 1, change.second[0] + 1  # behind the start symbol
        words[0, [one, other]] = words[0, [other, one]]
        return words, WORDS
    offset, vocabulary = (
        int(require_vocabulary(posed.model).source_start),
        require_vocabulary(posed.model),
    )
    if exact_answer(posed):
        try:
            answer = str(evaluate(_changed_text(posed.text, change, offset)))
            ids = encode_texts([""], [answer], vocabulary).target.padded(
                torch.tensor([0]), posed.model.config.pad
            )
            return ids.to(posed.model.device), ARITHMETIC
        except InputError:  # the changed text is no question: the model is asked
            pass
    source = posed.source.clone()
    if change.filler is not None:
        source[0, change.first[0]] = list(vocabulary.symbols).index(change.filler)
    else:
        source[0, [*change.first, *change.second]] = posed.source[
            0, [*change.second, *change.first]
        ]
    return posed.write(source, {}), MODEL


def _changed_text(text: str, change: Change, offset: int) -> str:
    """The text with the symbols exchanged, or with the one that becomes another."""
    first, second = ([at - offset for at in each] for each in (change.first, change.second))
    if change.filler is None:
        return exchanged(text, first, second)
    return text[: first[0]] + change.filler + text[first[0] + 1 :]


def _share(p: float) -> str:
    """A probability in three digits."""
    return f"{p:.3f}" if p >= 0.001 else f"{p:.1e}"


def tell_answer(posed: Posed, name: str, exact: str) -> str:
    """What the model answers, how probable that is, and whether it is right where that is known."""
    p = posed.probability(posed.source, [posed.answer], {})[0]
    about = f" writes of {posed.text}" if posed.is_image else " answers"
    told = f"{name}{about}: ‘{posed.told}’ (probability {_share(p)})"
    if not exact:
        return f"{told}."
    return f"{told}; the exact answer is {exact}: {'right' if exact == posed.told else 'wrong'}."


def tell_experiment(row: Mapping[str, Any]) -> str:
    """What an edit did to the answer, and whether that is what was predicted."""
    told = f"{row['edit']}: ‘{row['old answer']}’ ({_share(row['its p'])}) became ‘{row['new answer']}’ ({_share(row['p of it'])})"
    if row["new answer"] == row["old answer"]:
        told = f"{row['edit']}: the answer stays ‘{row['old answer']}’, its probability goes from {_share(row['its p'])} to {_share(row['p now'])}"
    if not row["by"]:
        return f"{told}."
    hit = "as" if row["as predicted"] else "unlike"
    return f"{told}; {hit} predicted: ‘{row['predicted']}’ ({row['by']})."


def tabulate(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Experiments as a table, the newest first."""
    return pd.DataFrame([{"experiment": n, **row} for n, row in enumerate(rows, 1)][::-1])
