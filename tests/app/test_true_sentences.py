"""No sentence names what its store does not have, and every number in a sentence stands in a table."""

import re
from itertools import product

import numpy as np
import pandas as pd
import pytest
from planted.questions import attend

import tprprobe as tp
from tprprobe.dashboard import (
    attention,
    contents,
)
from tprprobe.dashboard.scene import summarize_roles
from tprprobe.store import SiteSpec, StoreWriter, open_store

WORDS = (("the", "DT", 1), ("dog", "NN", 2), ("sees", "VB", 2), ("a", "DT", 4), ("cat", "NN", 2))
FAMILIES = ("math", "captions", "encoder", "decoder", "attached", "imported")
LACKS = ("answers", "labels", "twin", "maps")
MISSING = ((), LACKS)
SITES = {
    "math": "encoder.0.self.role",
    "captions": "word.unbinding",
    "encoder": "encoder.0.hidden",
    "decoder": "decoder.0.hidden",
    "attached": "encoder.1.hidden",
    "imported": "encoding",
}
NEEDS = {  # what a word of a sentence needs
    r"answered|right answers": lambda s: contents.list_contents(s).score is not None,
    r"written|wrote|writes|reference": lambda s: contents.list_contents(s).writes,
    r"∅|✗|✓": lambda s: False,
    r"\bpos\b|\bdep\b|Labels|depend": lambda s: bool(contents.list_contents(s).labels),
    r"‘/’|denominator|numerator": lambda s: contents.list_contents(s).arithmetic,
    r"twin|Controls": lambda s: bool(s.twins),
    r"\bhead\b|heads": lambda s: any(spec.heads for spec in s.specs.values()),
    r"gold relation|claim|verdict": lambda s: False,
    r"Imported": lambda s: "imported" in s.manifest,
}


def tokens_of(family, sample, lacks, rng):
    if family == "math":
        signs = [
            "<sos>",
            *f"{rng.integers(1, 9)}/({rng.integers(1, 9)}/{rng.integers(1, 9)})",
            "<eos>",
        ]
        words = [(sign, "", 0) for sign in signs]
    else:
        words = (
            [WORDS[i] for i in range(len(WORDS))]
            if family != "captions"
            else [("<sos>", "", 0), *WORDS]
        )
    side = "target" if family == "captions" else "source"
    table = pd.DataFrame(
        {
            "side": side,
            "sample": sample,
            "position": range(len(words)),
            "token": [w for w, *_ in words],
        }
    )
    if family in ("encoder", "decoder", "attached") and "labels" not in lacks:
        cells = [
            "" if head == i else f"obj[{i},{i + 1})[{head},{head + 1})"
            for i, (_, _, head) in enumerate(words)
        ]
        table = table.assign(word=range(len(words)), pos=[tag for _, tag, _ in words], dep=cells)
    if family in ("attached", "imported"):
        return table
    text = "".join(table["token"][1:-1]) if family == "math" else " ".join(table["token"])
    table = table.assign(question=text, module="arithmetic" if family == "math" else "")
    if "answers" in lacks:
        return table
    prediction = {"math": "1", "captions": "a dog"}.get(
        family, ""
    )  # what an encoder writes: nothing
    return table.assign(
        answer="1" if family == "math" else text,
        prediction=prediction,
        correct=family == "math" and sample % 2 == 0,
    )


def make_store(path, family, lacks, twin=False):
    rng, site = np.random.default_rng(3), SITES[family]
    sides = {"captions": "target", "imported": "sample"}
    rows = sides.get(family, "source")
    specs = {
        site: SiteSpec((rows, "head", "d_head"), (2, 4))
        if family == "math"
        else SiteSpec((rows, "d_model"), (8,))
    }
    maps = (
        ""
        if family in ("captions", "imported") or "maps" in lacks
        else f"{site.rsplit('.', 1)[0]}.self.attention".replace("self.self", "self")
    )
    if maps:
        specs[maps] = SiteSpec(("source_source", "head"), (2,))
    manifest = {
        "model": {"name": f"permuted:{family}" if twin else family},
        "data": {"name": "made"},
    }
    manifest |= {"imported": {"source": "x"}} if family == "imported" else {}
    writer = StoreWriter.create(path, specs, manifest)
    for sample in range(12):
        table = tokens_of(family, sample, lacks, rng)
        n = 1 if rows == "sample" else len(table)
        values = {site: rng.normal(size=(n, *specs[site].shape))}
        weights = {maps: [attend(list(table["token"]), rng)]} if maps else {}
        writer.append(values, table, weights)
    writer.finish()
    if "twin" not in lacks and not twin:
        make_store(path / "permuted", family, lacks, twin=True)
    return open_store(path)


def numbers_in(text, store, tables):
    """The numbers of a sentence that are no part of a name."""
    names = [
        *store.sites,
        *(
            str(cell)
            for table in tables
            for name in table
            for cell in table[name]
            if isinstance(cell, str)
        ),
    ]
    for name in sorted({cell for cell in names if re.search(r"\d", cell)}, key=len, reverse=True):
        text = text.replace(name, "")
    text = re.sub(
        r"‘[^’]*’|F1|95 %|\bR²|\(cluster \d+|head \d+|0: chance|1: the same|ARI; 1", "", text
    )
    return re.findall(r"[-+]?\d[\d,]*\.?\d*", text)


def known_numbers(tables):
    numbers = set()
    for table in tables:
        numbers |= {f"{n:,}" for n in range(len(table) + 1)}  # counts of its rows
        for name in table:
            for value in pd.to_numeric(table[name], errors="coerce").dropna().astype(float):
                forms = [".0f", ".1f", ".2f", ".3f", "+.1f", "+.3f", ",.0f"]
                numbers |= {f"{scale * value:{form}}" for scale in (1, 100) for form in forms}
    return numbers


def check(statement, store, tables):
    text = str(statement)
    for words, holds in NEEDS.items():
        if re.search(words, re.sub(r"‘(?!/’)[^’]*’", "", text)):
            assert holds(store), f"{words}: {text}"
    numbers = known_numbers(tables)
    for number in numbers_in(text, store, tables):
        assert number.strip(",") in numbers, f"{number}: {text}"


def facts_of(store):
    facts, holds = contents.describe_store(store), contents.list_contents(store)
    counts = [
        int(number.replace(",", ""))
        for number in re.findall(r"[\d,]+", f"{facts['samples']} {facts['tokens']}")
    ]
    score = [] if holds.score is None else [holds.score.value, holds.score.low, holds.score.high]
    return pd.DataFrame({"value": [*counts, *score]})


@pytest.mark.parametrize(("family", "lacks"), [*product(FAMILIES, MISSING)])
def test_what_is_said_of_a_store_is_true_of_it(tmp_path, family, lacks):
    store = make_store(tmp_path / "store", family, lacks)
    check(contents.summarize_store(store), store, [facts_of(store)])
    scene = tp.dashboard.build_scene(store, SITES[family], 0 if family == "math" else None, k=3)
    roles = pd.DataFrame({"n": [len(scene.rows), scene.roles.k, scene.roles.stability]})
    names = (
        []
        if scene.names is None
        else [
            scene.names,
            pd.DataFrame(
                {"c": [scene.names["coverage"].where(scene.names["name"] != "unnamed").sum()]}
            ),
        ]
    )
    check(summarize_roles(scene), store, [roles, *names])
    strips = tp.dashboard.strips.pack_strips(scene, [0, 1])["strips"]
    says = {"math", "captions"} if "answers" not in lacks else set()
    assert all(
        ("→" in strip["heading"] or "✗" in strip["heading"]) == (family in says) for strip in strips
    )
    if any(store.count_maps(site) for site in store.sites):
        scores = attention.score_attention(store, attention.follow(store))
        check(attention.summarize_attention(scores), store, [scores])
