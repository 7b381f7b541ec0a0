"""Salience: which tokens of a text an answer depends on, by gradients, beside what happens when it is replaced."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from tprprobe.errors import InputError
from tprprobe.interventions.prompts import Prompt, has_head, list_states, query_text
from tprprobe.models.protocol import Model, Readable, require_vocabulary
from tprprobe.site.hooks import intervene

GRADIENT, INTEGRATED, REPLACED = "gradient × input", "integrated gradients", "replaced"
ROWS = 16  # texts that are read at once
Score = Callable[[Int[Tensor, "batch seq"]], Float[Tensor, " batch"]]


def salience(
    model: Readable,
    text: str,
    answer: str | None = None,
    against: str | None = None,
    steps: int = 16,
    draws: int = 4,
    seed: int = 0,
) -> pd.DataFrame:
    """How much every token of a text adds to the log-probability of an answer, compared with random tokens at its place.

    Args:
        model: A model that reads text.
        text: The text.
        answer: The answer; default: what the model says.
        against: Of a model without a head, the text to which the similarity (cosine of mean states in the last layer) is explained.
        steps: The steps from random tokens' embeddings to the text's, over which gradients are averaged. (Norms make gradients
            on the way from zero vectors meaningless.)
        draws: How many texts of random tokens are drawn.
        seed: Seed of the random tokens.

    Returns:
        One row per token: ``position``, ``token``, ``gradient × input``, ``integrated gradients`` (their sum is the score less that of
        the random tokens, but for the error of so many steps), and the control ``replaced``: the score less that with this
        token alone replaced by random ones, measured.

    Raises:
        InputError: A model without embeddings of ids; of a model without a head, no text to compare with.

    Source: Shrikumar et al. 2017, gradient × input; Sundararajan et al. 2017, integrated gradients; Erion et al. 2021.

    Examples:
        >>> tp.interventions.salience(model, "Calculate 1+1.")["token"].iloc[:4].to_list()
        ['<sos>', 'C', 'a', 'l']
    """
    prompt = query_text(model, text)
    source, score = prompt.source, _choose_score(prompt, answer, against)
    embeddings, random = _read_embeddings(model, source, score, draws, seed)
    n_tokens, shift = source.shape[1], embeddings - random  # [draw, seq, d]
    shares = [(step + 0.5) / steps for step in range(steps)]
    path = torch.cat([random + share * shift for share in shares])
    mean = _differentiate(model, source, score, path).unflatten(0, (steps, draws)).mean(0)
    gradient = _differentiate(model, source, score, embeddings)
    is_replaced = torch.eye(n_tokens, dtype=torch.bool, device=shift.device)[:, None, :, None]
    replaced = torch.where(is_replaced, random, embeddings).flatten(0, 1)  # [token × draw, seq, d]
    with torch.no_grad():
        score_of_text = _score(model, source, score, embeddings)
        lost = score_of_text - _score(model, source, score, replaced)
    columns = {
        GRADIENT: (embeddings * gradient).sum(-1)[0],
        INTEGRATED: (shift * mean).sum(-1).mean(0),
        REPLACED: lost.unflatten(0, (n_tokens, draws)).mean(1),
    }
    rows = {"position": range(n_tokens), "token": prompt.tokens}
    return pd.DataFrame(rows | {name: values.double().cpu() for name, values in columns.items()})


def _choose_score(prompt: Prompt, answer: str | None, against: str | None) -> Score:
    """The log-probability of the answer, or of a model without a head the similarity to another text."""
    model = prompt.model
    if not has_head(model):
        if not against:
            raise InputError(f"{model.name} has no head: give another text to compare with")
        site, prompt = list_states(model)[-1], query_text(model, against)
        mean = prompt.run(prompt.source, site)[site].mean(1)
        return lambda source: torch.cosine_similarity(_mean_state(model, source, site), mean)
    target = _answer_ids(prompt, answer)

    def score(source: Int[Tensor, "batch seq"]) -> Float[Tensor, " batch"]:
        ids = target.expand(len(source), -1)
        logs = model.decode(ids[:, :-1], model.encode(source))[0].float().log_softmax(-1)
        return logs.gather(-1, ids[:, 1:, None])[..., 0].sum(1)

    return score


def _answer_ids(prompt: Prompt, answer: str | None) -> Int[Tensor, "1 target_seq"]:
    """The ids of the answer, start symbol first; of a text that goes on, its first token."""
    model = prompt.model
    start = torch.full((1, 1), model.config.sos, device=prompt.source.device)
    if answer is not None:
        _, targets = require_vocabulary(model).encode_answers([prompt.text], [answer])
        ids = torch.tensor([targets.values.tolist()], device=start.device)
        return ids if isinstance(model, Model) else ids[:, :2]
    if prompt.answer is not None:
        return prompt.answer
    return torch.cat([start, model.predict(prompt.source).argmax(-1, keepdim=True)], 1)


def _mean_state(model: Readable, source: Tensor, site: str) -> Float[Tensor, "batch d_model"]:
    states: list[Tensor] = []

    def keep(values: Tensor) -> Tensor:
        states.append(values)
        return values

    with intervene(model, {site: keep}):
        model.run(source, source[:, :1])
    return states[-1].float().mean(1)


@contextmanager
def _embedded(
    model: Readable, source: Tensor, edit: Callable[[nn.Embedding, Tensor], Tensor]
) -> Iterator[None]:
    """While it is open, embeddings of the ids of ``source`` go through an edit."""

    def replace(table: nn.Embedding, inputs: tuple, vectors: Tensor) -> Tensor | None:
        ids = inputs[0] if inputs else None
        is_source = isinstance(ids, Tensor) and ids.shape[-1:] == source.shape[-1:]
        return edit(table, vectors) if is_source and torch.equal(ids[:1], source[:1]) else None  # type: ignore[index]

    tables = [module for module in model.modules() if isinstance(module, nn.Embedding)]
    with ExitStack() as hooks:
        for table in tables:
            hooks.callback(table.register_forward_hook(replace).remove)
        yield


def _read_embeddings(
    model: Readable, source: Tensor, score: Score, draws: int, seed: int
) -> tuple[Float[Tensor, "1 seq d"], Float[Tensor, "draw seq d"]]:
    embeddings: list[tuple[Tensor, Tensor]] = []
    generator = torch.Generator().manual_seed(seed)

    def keep(table: nn.Embedding, vectors: Tensor) -> Tensor:
        ids = torch.randint(1, table.num_embeddings, (draws, source.shape[1]), generator=generator)
        ids[ids == model.config.pad] = 0  # a pad has no vector of its own
        embeddings.append((vectors, table.forward(ids.to(vectors.device))))
        return vectors

    with _embedded(model, source, keep), torch.no_grad():
        score(source)
    if not embeddings:
        raise InputError(f"{model.name} has no table of embeddings of its tokens")
    return embeddings[0]


def _score(
    model: Readable, source: Tensor, score: Score, vectors: Tensor
) -> Float[Tensor, " batch"]:
    scores = []
    for rows in vectors.split(ROWS):
        with _embedded(model, source, lambda _, vectors, rows=rows: rows.to(vectors.dtype)):
            scores.append(score(source.expand(len(rows), -1)))
    return torch.cat(scores)


def _differentiate(model: Readable, source: Tensor, score: Score, vectors: Tensor) -> Tensor:
    gradients = []
    for rows in vectors.detach().split(ROWS):
        rows.requires_grad_()
        with torch.enable_grad():
            total = _score(model, source, score, rows).sum()
        gradients += torch.autograd.grad(total, rows)
    return torch.cat(gradients)
