"""Claims on unbinding vectors (huang §5.3)."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

from studies.verdicts.table import claims_of
from tprpapers.claims import Verdict, judge
from tprpapers.huang import figures as huang
from tprpapers.huang.state_tables import read_swaps
from tprpapers.huang.unbinding import (
    find_clusters,
    partition_space,
    read_words,
    summarize_subjects,
)
from tprpapers.huang.unbinding.ten_clusters import labels_of
from tprpapers.verdicts import judge_cases
from tprprobe.console import stderr
from tprprobe.data import load_data
from tprprobe.errors import InputError
from tprprobe.extraction import extract
from tprprobe.files import hub
from tprprobe.gold.labellers import find_labellers
from tprprobe.interventions import run_recipe
from tprprobe.models import load_model
from tprprobe.models.checkpoint import read_checkpoint
from tprprobe.store import Store, open_store
from tprprobe.store.layout import MANIFEST
from tprprobe.training.recipes import read_recipe

MODELS = ("tpgn-scenes", "tpgn-coco-words")
TAGGED = {"tpgn-coco-words"}  # whose words no data tag: TAGGER in the folder of runs does
TAGGER, N, SEED = "tagger", 1000, 0
KS = (2, 10)  # huang's numbers of clusters
SWAP = Path(__file__).parents[1] / "captions" / "swap.toml"
SITES, STATE = ["word.unbinding"], "sentence.tpr"
OWN_CAPTIONS, OF_CENTERS, PEOPLE = "written", "learned", "people"  # the stores of a model
OF_SCORES = {"huang-table1", "huang-bleu-n", "huang-training-time"}


def judge_unbinding(runs: Path) -> Iterator[tuple[str, Verdict]]:
    """The verdicts on the unbinding vectors of every shipped TPGN.

    Raises:
        InputError: data or a tagger that does not ship is missing.
    """
    for name in MODELS:
        verdicts = _judge_words(*read_stores(name, runs), exchange_vectors(name, runs))
        by_claim = {verdict.claim.id: verdict for verdict in verdicts}
        for claim in claims_of("captions"):
            if claim.id not in OF_SCORES:
                yield name, by_claim.get(claim.id) or judge(claim, None)


def place(name: str, source: str, runs: Path) -> Path:
    """The folder of some results of a shipped model; other weights have another folder."""
    weights = hub.locate("models", name) / hub.WEIGHTS
    return runs / f"{name}-{source}-{hashlib.sha256(weights.read_bytes()).hexdigest()[:8]}"


def read_stores(name: str, runs: Path) -> tuple[Store, Store, Store]:
    """The stores of a model's words: those that are counted, on unseen images; those whose centers
    count them; and people's words of the unseen images, with dependencies.

    As in the paper the first two are of the model's own captions, the second those of the images that
    it was trained on.
    """
    own_captions, of_centers, people = (
        _extract(name, source, runs) for source in (OWN_CAPTIONS, OF_CENTERS, PEOPLE)
    )
    return own_captions, of_centers, people


def _extract(name: str, source: str, runs: Path) -> Store:
    """A store of a shipped model's unbinding vectors, extracted if it is missing."""
    path = place(name, source, runs)
    if (path / MANIFEST).is_file():
        return open_store(path)
    tagger, is_tagged = runs / TAGGER, name in TAGGED and source != OF_CENTERS
    if is_tagged and not tagger.is_dir():
        raise InputError(
            f"its words need a tagger in {tagger}: see docs/probing.md for the recipe that trains one"
        )
    stderr.print(f"extracting {path.name} …")
    mix = read_recipe(hub.locate("models", name) / hub.RECIPE).stages[0].mix[0]
    trained_on = {"split": mix.split, "n": mix.n, "seed": mix.seed}
    data = load_data(
        mix.data, **(trained_on if source == OF_CENTERS else {"split": "test", "n": N})
    )
    return extract(
        load_model(name),
        data,
        [*SITES, STATE] if source == OWN_CAPTIONS else SITES,
        path,
        target="reference" if source == PEOPLE else "generated",
        control=source != OF_CENTERS,
        resume=path.exists(),
        labellers=find_labellers({"pos,dep": f"spacy:{tagger}"}) if is_tagged else (),
    )


def exchange_vectors(name: str, runs: Path) -> Path:
    """The folder in which steps of a shipped model took the vector of another step, run if it is missing."""
    folder = place(name, "swap", runs)
    run_recipe(SWAP, read_checkpoint(name), folder, resume=folder.exists())
    return folder


def _judge_words(store: Store, learned_on: Store, people: Store, exchanged: Path) -> list[Verdict]:
    words = read_words(store, seed=SEED)
    clusters = find_clusters(words, KS, seed=SEED, learned_on=learned_on)
    two, ten = (labels_of(words, clusters[k]) for k in KS)
    regions = partition_space(words, seed=SEED)
    void = huang.explain_void_two(words, two) | huang.explain_void_ten(words)
    verdicts = huang.judge_words(words, huang.of_two(words, two) | huang.of_ten(words, ten), void)
    verdicts += judge_cases(huang.of_regions(regions), "document", regions.images)
    verdicts += huang.judge_subjects(summarize_subjects(read_words(people, seed=SEED), SEED))
    return verdicts + read_swaps(exchanged)[0]
