"""Site names: dotted names with a layer number, matched by shell globs and negative layers."""

import fnmatch
import re
from collections.abc import Iterable, Sequence

import numpy as np

from tprprobe.errors import InputError, unknown

MOST_LAYERS = 300  # of a model of transformers
ATTENTION_PARTS = ("input", "query", "key", "value", "attention", "filler")
ATTENTION = ".attention"  # how the name of a site of attention maps ends
ROLES = (("encoder.", "self.role"), ("", ".role"), ("", ".unbinding"), ("", ".hidden"), ("", ""))
_COMMA = re.compile(r",(?![^\[]*\])")
_LAYER = re.compile(r"(encoder|decoder|layers|blocks)\.(-?\d+)(?=\.|$)")
_TARGET = ("decoder.", "embedding.target.", "sentence.", "word.")


def select(patterns: str | Iterable[str], names: Sequence[str]) -> list[str]:
    """The names that match any of the shell globs, in their own order; layer -1 is the last. A text may list several: ``a,b``."""
    selected: set[str] = set()
    for pattern in split_patterns(patterns):
        matches = match(pattern, names)
        if not matches:
            raise unknown("site", pattern, names)
        selected.update(matches)
    return [name for name in names if name in selected]


def split_patterns(patterns: str | Iterable[str]) -> list[str]:
    """The shell globs of one text or several, divided at commas that stand in no brackets."""
    texts = [patterns] if isinstance(patterns, str) else patterns
    return [pattern.strip() for text in texts for pattern in _COMMA.split(text)]


def check_possible(patterns: Iterable[str]) -> None:
    """Checks that a model of transformers can have sites that shell globs match, before it is read, which takes long."""
    for pattern in split_patterns(patterns):
        if not match(pattern, _transformers_sites(MOST_LAYERS)):
            raise unknown("site", pattern, _transformers_sites(1))


def _transformers_sites(n_layers: int) -> list[str]:
    attention = [f"{kind}.{tensor}" for kind in ("self", "cross") for tensor in ATTENTION_PARTS]
    layers = [f"{n}.{tensor}" for n in range(n_layers) for tensor in ("hidden", "mlp", *attention)]
    stacks = ("encoder", "decoder", "layers")
    return ["encoding", *(f"{stack}.{site}" for stack in stacks for site in ("embedding", *layers))]


def match(pattern: str, names: Sequence[str]) -> list[str]:
    """The names that match a shell glob; none is no error."""
    return fnmatch.filter(names, resolve(pattern, names))


def resolve(pattern: str, names: Iterable[str]) -> str:
    """The pattern with a negative layer counted from the last layer of that stack in ``names``."""
    match = _LAYER.match(pattern)
    if match is None or int(match[2]) >= 0:
        return pattern
    layers = {int(m[2]) for m in map(_LAYER.match, names) if m and m[1] == match[1]}
    layer = max(layers, default=-1) + 1 + int(match[2])
    return pattern if layer < 0 else f"{match[1]}.{layer}{pattern[match.end() :]}"


def layer_of(name: str) -> int | None:
    match = _LAYER.match(name)
    return int(match[2]) if match else None


def head_axis(axes: Sequence[str]) -> int | None:
    """The number of the axis of heads, or of key heads where they are fewer; None for no heads."""
    return next((i for i, axis in enumerate(axes) if axis in ("head", "key_head")), None)


def side_of(name: str) -> str:
    """The side whose tokens a site's vectors belong to: ``target`` (the decoder's) or ``source``."""
    if name.endswith((".cross.key", ".cross.value")):
        return "source"
    return "target" if name.startswith(_TARGET) else "source"


def is_causal(name: str) -> bool:
    """True if a site's vectors depend on no token after theirs: those of decoders and language models."""
    return side_of(name) == "target" or name.startswith("layers.")


def sides_of(name: str) -> tuple[str, str]:
    query = side_of(name)
    return query, "source" if ".cross." in name else query


def first_role(sites: Sequence[str]) -> int:
    """The index of the default site: the last layer's roles of the encoder."""
    kinds = (
        [i for i, site in enumerate(sites) if site.startswith(a) and site.endswith(b)]
        for a, b in ROLES
    )
    return max(next(filter(None, kinds), [0]), key=lambda i: layer_of(sites[i]) or 0)


def like(sites: Sequence[str], site: str) -> list[str]:
    name_parts = site.split(f".{layer_of(site)}.")
    return [name for name in sites if name.split(f".{layer_of(name)}.") == name_parts]


def choose_outputs(names: Sequence[str], layers: int) -> list[str]:
    """The input embeddings where they are a site, and the outputs of layers that are evenly spaced, the last included; of a
    model without layers the sites of its vectors.

    Raises:
        InputError: there are no vectors, or less than one layer is asked for.
    """
    if layers < 1:
        raise InputError(f"{layers} layers: give one or more")
    vectors = [name for name in names if not name.endswith(ATTENTION)]
    vectors = [name for name in vectors if side_of(name) == "source"] or vectors
    outputs = [name for name in vectors if name.endswith("hidden") and layer_of(name) is not None]
    outputs = outputs or [name for name in vectors if name.endswith("hidden")] or vectors
    if not outputs:
        raise InputError("the model has no site of vectors: name layers' outputs with tp.attach")
    places = np.linspace(len(outputs) - 1, 0, min(layers, len(outputs))).round().astype(int)
    embedding = [name for name in vectors if name.endswith(".embedding")][:1]
    return [*embedding, *(outputs[i] for i in sorted({*places.tolist()}))]
