"""A store without a model whose words are labelled, and whose vectors know what was put into them."""

from pathlib import Path

import numpy as np
import pandas as pd

from tprprobe.store import SiteSpec, Store, StoreWriter, open_store

TAGS = ("DT", "NN", "VB", "IN")
WORDS = {tag: [f"{tag.lower()}{i}" for i in range(5)] for tag in TAGS}
VOCABULARY = ["<s>", *(word for words in WORDS.values() for word in words)]
FOLLOWS = {  # what comes after a tag
    "": ("DT", "NN"),
    "DT": ("NN", "NN", "NN", "VB"),
    "NN": ("VB", "IN", "VB"),
    "VB": ("DT", "IN", "NN"),
    "IN": ("DT", "NN"),
}
ENCODER, HEADS = "encoder.0.hidden", "encoder.0.self.tpr"
ROLE, FILLER = "encoder.0.self.role", "encoder.0.self.filler"
WEIGHTS = "encoder.0.self.role_weights"
STATE = "decoder.0.hidden"
WIDTH = len(VOCABULARY)
SITES = {
    ENCODER: SiteSpec(("source", "d_model"), (WIDTH,)),
    ROLE: SiteSpec(("source", "head", "d_head"), (2, 4)),
    FILLER: SiteSpec(("source", "head", "d_head"), (2, 4)),
    HEADS: SiteSpec(("source", "d_model"), (8,)),
    WEIGHTS: SiteSpec(("source", "head", "n_roles"), (2, 5)),
    STATE: SiteSpec(("target", "d_model"), (WIDTH,)),
}


def sentence(rng: np.random.Generator) -> list[tuple[str, str]]:
    """Words with their tags."""
    tags = [""]
    for _ in range(int(rng.integers(4, 9))):
        tags.append(str(rng.choice(FOLLOWS[tags[-1]])))
    return [(str(rng.choice(WORDS[tag])), tag) for tag in tags[1:]]


def cells(words: list[tuple[str, str]]) -> dict[str, list[str]]:
    """The cells of the tasks: tags, a head each, entities, arguments of verbs."""
    tags = [tag for _, tag in words]
    nouns = [i for i, tag in enumerate(tags) if tag == "NN"]
    heads = [
        min(nouns, key=lambda j, i=i: (abs(i - j), j)) if nouns else i for i in range(len(tags))
    ]
    dep = [
        f"{'root' if i == h else tags[i].lower()}[{i},{i + 1})[{h},{h + 1})"
        for i, h in enumerate(heads)
    ]
    nel, srl = [""] * len(tags), [""] * len(tags)
    for i, tag in enumerate(tags):
        if tag == "DT" and i + 1 in nouns:
            nel[i] = f"{'ODD' if int(words[i][0][-1]) % 2 else 'EVEN'}[{i},{i + 2})"
        if tag == "VB" and i:
            srl[i] = f"ARG0[{i},{i + 1})[0,{i})" + (
                f" R-ARG1[{i},{i + 1})[{i + 1},{len(tags)})" if i + 1 < len(tags) else ""
            )
    return {"pos": tags, "dep": dep, "nel": nel, "srl": srl}


def table(sample: int, words: list[tuple[str, str]]) -> pd.DataFrame:
    """Tokens of both sides: source words one by one, target words behind a start symbol."""
    columns = {
        "token": [word for word, _ in words],
        "word": list(range(len(words))),
        **cells(words),
    }
    source = pd.DataFrame(columns)
    target = pd.DataFrame({"token": ["<s>"], "word": [-1], **{k: [""] for k in cells(words)}})
    target = pd.concat([target, source])
    sides = [
        frame.assign(side=side, position=range(len(frame)))
        for side, frame in (("source", source), ("target", target))
    ]
    return pd.concat(sides).assign(sample=sample, document=f"d{sample // 2}")


def identities(tokens: pd.Series) -> np.ndarray:
    """Each token as one-hot."""
    return np.eye(WIDTH, dtype=np.float32)[[VOCABULARY.index(token) for token in tokens]]


def plant(path: Path, samples: int = 60, seed: int = 0, control: bool = True) -> Store:
    """The store; STATE of row i is what the decoder reads there, token i - 1 of the sentence.

    The untrained twin has read the first samples only, as in stores of many.
    """
    rng = np.random.default_rng(seed)
    project = rng.normal(size=(WIDTH, 8)).astype(np.float32)
    sentences = [sentence(rng) for _ in range(samples)]
    _write(path, sentences, project, seed)
    if control:
        control_sentences = sentences[: samples * 5 // 6]
        _write(path / "untrained", control_sentences, rng.normal(size=project.shape), seed + 1)
    return open_store(path)


def _write(path: Path, sentences: list, project: np.ndarray, seed: int) -> None:
    rng = np.random.default_rng(seed)
    writer = StoreWriter.create(path, SITES, {"model": {"name": "planted"}, "data": "made"})
    tokens = pd.concat([table(sample, words) for sample, words in enumerate(sentences)])
    by_side = {side: side_rows["token"] for side, side_rows in tokens.groupby("side")}
    source = identities(by_side["source"])
    heads = (source @ project).reshape(-1, 2, 4)
    values = {
        ENCODER: source,
        FILLER: heads,
        ROLE: rng.normal(size=heads.shape),
        HEADS: heads.reshape(-1, 8),
        WEIGHTS: rng.dirichlet(np.full(5, 0.1), (len(heads), 2)),
        STATE: identities(by_side["target"]),
    }
    writer.append(values, tokens)
    writer.finish()
