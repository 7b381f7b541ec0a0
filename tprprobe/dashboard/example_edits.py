"""Changes of what a model makes of one question, text or image: edits of its vectors, in words.

The edits are those of `tprprobe.interventions`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tprprobe import plugins
from tprprobe.dashboard.live_example import Edits, Posed
from tprprobe.dashboard.next_words import find_words
from tprprobe.dashboard.safe_text import join, visible
from tprprobe.errors import InputError, unknown
from tprprobe.interventions.edits import exchange, swap, zero
from tprprobe.models.protocol import require_vocabulary
from tprprobe.site.hooks import find_sites

ENCODER = {
    "roles": ("role",),
    "fillers": ("filler",),
    "roles and fillers": ("role", "filler"),
}
CAPTION = {
    "unbinding vectors": ("word.unbinding",),
    "sentence TPRs": ("sentence.tpr",),
    "unbinding vectors and TPRs": ("word.unbinding", "sentence.tpr"),
}
BOUND = (".role", ".filler", ".value")  # what an ablated head has no more, the first that there is


@dataclass(frozen=True)
class Change:
    """An edit in words, and the text that it should be like: the positions of tokens that change places."""

    told: str
    edits: Edits
    first: tuple[int, ...] = ()
    second: tuple[int, ...] = ()


def list_kinds(posed: Posed) -> dict[str, tuple[str, ...]]:
    """The kinds of vectors that tokens can exchange, with the last words of their sites."""
    names = list(find_sites(posed.model))
    if posed.is_image:
        return {kind: sites for kind, sites in CAPTION.items() if {*sites} <= {*names}}
    known = {_encoder_vectors(name) for name in names}
    return {kind: ends for kind, ends in ENCODER.items() if {*ends} <= known}


def list_heads(posed: Posed) -> dict[str, range]:
    """The sites whose heads can be ablated, with these."""
    found = [name for name, site in find_sites(posed.model).items() if "head" in site.axes]
    end = next((each for each in BOUND if any(name.endswith(each) for name in found)), None)
    return {
        name: range(posed.model.n_heads) for name in found if end is not None and name.endswith(end)
    }


def summarize_headless(posed: Posed) -> str:
    """Why a model without heads has none to ablate."""
    why = ""
    if {"sentence.tpr", "word.unbinding"} <= {*find_sites(posed.model)}:
        why = ": it unbinds every word from one matrix, its sentence TPR"
    return f"{posed.model.name} has no heads and no attention, so none can be ablated{why}."


def list_pairs(posed: Posed) -> list[tuple[str, int, int]]:
    """Symbols of a question whose exchange has an exact answer, as plug-ins find them: in words, and a token of each."""
    if posed.is_image:
        return []
    before = int(require_vocabulary(posed.model).source_start)
    return [
        (words, first + before, second + before)
        for find in plugins.load_all("exchanges").values()
        for words, first, second in find(posed.text)
    ]


def _encoder_vectors(site: str) -> str:
    return site.rpartition(".")[2] if site.startswith("encoder.") else ""


def exchange_tokens(posed: Posed, kind: str, first: int, second: int) -> Change:
    """The exchange of two tokens' vectors in all layers; of numbers or words of as many parts, of all of them.

    Raises:
        InputError: no such kind or token, or the same token twice.
    """
    kinds = list_kinds(posed)
    if kind not in kinds:
        raise unknown("kind of vectors", kind, kinds)
    if first == second or not all(0 <= at < len(posed.tokens) for at in (first, second)):
        raise InputError(f"choose two of the tokens 0 to {len(posed.tokens) - 1}")
    spans = find_words(posed.words, first, second)
    edit = swap(exchange([spans[0]], [spans[1]], len(posed.tokens)))
    ends = kinds[kind]
    sites = [
        name for name in find_sites(posed.model) if name in ends or _encoder_vectors(name) in ends
    ]
    one, other = (f"{_show(posed, span)} ({span[0]})" for span in spans)
    return Change(
        f"{kind} of {one} and {other} exchanged", dict.fromkeys(sites, edit), spans[0], spans[1]
    )


def _show(posed: Posed, span: Sequence[int]) -> str:
    """Tokens in quotes."""
    return f"‘{visible(join(posed.tokens[at] for at in span))}’"


def ablate_head(site: str, head: int) -> Change:
    """One head's vectors of a site replaced by 0: it binds nothing."""
    return Change(f"head {head} of {site} replaced by 0", {site: zero(heads=[head])})
