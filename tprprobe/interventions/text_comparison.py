"""Two texts side by side: what a model says of each, how far apart their states are, and how differently its heads look."""

from dataclasses import dataclass
from difflib import SequenceMatcher

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float

from tprprobe.errors import InputError
from tprprobe.interventions import prompts
from tprprobe.interventions.prompt_edits import find_heads
from tprprobe.interventions.prompts import Prompt
from tprprobe.models.protocol import Readable
from tprprobe.site.patterns import ATTENTION, layer_of, sides_of
from tprprobe.store import Store

SOURCE = "source"
Pairs = list[tuple[int, int]]  # positions of tokens of both texts


@dataclass(frozen=True, eq=False)
class TextComparison:
    """Two texts side by side: ``outputs`` (what is said, a column a text), ``states`` (a row per site and token), ``heads``."""

    outputs: pd.DataFrame
    states: pd.DataFrame
    heads: pd.DataFrame


def compare_texts(
    model: Readable, text: str, against: str, store: Store | None = None
) -> TextComparison:
    """What a model makes of two texts, token by token where they have the same tokens.

    Args:
        model: A model that reads text.
        text: The text.
        against: The other text, such as the same with a word changed.
        store: Samples to which a model without a head compares a text; default: none, and no ``outputs`` without a head.

    Returns:
        Three tables. ``outputs``: what is said, with its probability (or cosine) of ``text`` and ``against``. ``states``: ``site``, ``layer``,
        ``position``, ``other_position``, ``token``, ``other_token`` and ``distance``, 1 − the cosine of the two states, of
        tokens that are aligned (a token replaced by one token is). ``heads``: ``site``, ``layer``, ``head`` and ``distance`` of the two
        attention maps over aligned tokens, from 0 (the same) to 1 (total variation, the mean over queries).

    Raises:
        InputError: A text that the model cannot read, or texts without tokens that can be aligned.

    Examples:
        >>> texts = tp.interventions.compare_texts(model, "Calculate 1+1.", "Calculate 1+2.")
        >>> bool(texts.states["distance"].min() >= 0)
        True
    """
    prompt_a, prompt_b = prompts.query_text(model, text), prompts.query_text(model, against)
    pairs = align_tokens(prompt_a.tokens, prompt_b.tokens)
    if not pairs:
        raise InputError("the two texts have no tokens that can be aligned")
    outputs = pd.DataFrame()
    if store is not None or prompts.has_head(model):
        inputs: dict[str, prompts.EditedInput] = {
            prompts.UNEDITED: (prompt_a.source, {}),
            prompts.EDITED: (prompt_b.source, {}),
        }
        names = {prompts.UNEDITED: "text", prompts.EDITED: "against"}
        outputs = prompts.read_output(prompt_a, inputs, store).table.rename(columns=names)
    prompts_and_pairs = prompt_a, prompt_b, pairs
    return TextComparison(
        outputs, _compare_states(*prompts_and_pairs), _compare_heads(*prompts_and_pairs)
    )


def align_tokens(tokens: tuple[str, ...], other_tokens: tuple[str, ...]) -> Pairs:
    """Positions of tokens that are the same, or are replaced one by one."""
    blocks = SequenceMatcher(None, tokens, other_tokens, autojunk=False).get_opcodes()
    return [
        (i, j)
        for _, start, end, other_start, other_end in blocks
        if end - start == other_end - other_start
        for i, j in zip(range(start, end), range(other_start, other_end), strict=True)
    ]


def _compare_states(prompt_a: Prompt, prompt_b: Prompt, pairs: Pairs) -> pd.DataFrame:
    sites = prompts.list_states(prompt_a.model)
    states, other_states = (prompt.run(prompt.source, *sites) for prompt in (prompt_a, prompt_b))
    positions, other_positions = (list(side) for side in zip(*pairs, strict=True))
    tables = []
    for site in sites:
        a, b = states[site][0].double(), other_states[site][0].double()
        cosine = torch.cosine_similarity(a[positions], b[other_positions], dim=-1)
        columns = {
            "site": site,
            "layer": layer_of(site),
            "position": positions,
            "other_position": other_positions,
            "token": [prompt_a.tokens[i] for i in positions],
            "other_token": [prompt_b.tokens[j] for j in other_positions],
            "distance": (1 - cosine).clamp(0).cpu().numpy(),
        }
        tables.append(pd.DataFrame(columns))
    return pd.concat(tables, ignore_index=True)


def _compare_heads(prompt_a: Prompt, prompt_b: Prompt, pairs: Pairs) -> pd.DataFrame:
    maps, other_maps = find_heads(prompt_a), find_heads(prompt_b)
    positions, other_positions = (np.array(side, int) for side in zip(*pairs, strict=True))
    rows = []
    for site, heads in maps.items():
        if sides_of(site) != (SOURCE, SOURCE):
            continue
        a = _normalize(heads[:, positions][:, :, positions])
        b = _normalize(other_maps[site][:, other_positions][:, :, other_positions])
        distances = 0.5 * np.abs(a - b).sum(-1).mean(-1)
        name = f"{site.rpartition('.')[0]}{ATTENTION}"
        place = {"site": name, "layer": layer_of(site)}
        rows += [place | {"head": head, "distance": d} for head, d in enumerate(distances)]
    return pd.DataFrame(rows, columns=["site", "layer", "head", "distance"])


def _normalize(weights: Float[np.ndarray, "head query key"]) -> Float[np.ndarray, "head query key"]:
    return weights / np.maximum(weights.sum(-1, keepdims=True), 1e-12)
