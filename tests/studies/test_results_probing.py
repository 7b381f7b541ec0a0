"""The page on probing has every claim about probing, and only numbers of its tables."""

import itertools
import json

import numpy as np
import pandas as pd
import pytest
from planted.summary_study import plant_roles

from studies.pages import contrasts
from studies.pages import probing_page as probing
from studies.pages.contrasts import Place, compare
from studies.pages.deciding import decide
from studies.pages.probing_runs import DISCRETE, MODELS, Probed
from studies.pages.seed_roles import gather_seeds, mean_measure, seed_evidence
from studies.pages.seed_tables import list_peaks, summarize_leads, summarize_seeds
from studies.pages.verdicts import claims_of, read_page
from tprpapers.claims import judge, load_claims
from tprpapers.jiang.role_names import name_dictionary, read_fields
from tprprobe.analyses.probing.scores import Score, measure
from tprprobe.analyses.probing.trials import Counts
from tprprobe.evaluation.metrics import TERMS
from tprprobe.evaluation.results import Results, tabulate
from tprprobe.gold.labels import WORD
from tprprobe.store import SiteSpec, StoreWriter, open_store

DOCUMENTS, WORDS_OF_DOCUMENT = 40, 10
RIGHT = {
    "role": 4,
    "filler": 6,
    "tpr": 8,
}  # of EACH targets of a document, a layer more is one more
TASKS = ("pos", "dep", "srl", "nel")


def score(task, site, control, right, side="target", seed=0):
    """Of every document so many right, give or take one."""
    rng = np.random.default_rng([len(site), right])
    hits = np.clip(right + rng.integers(-1, 2, DOCUMENTS), 0, WORDS_OF_DOCUMENT)
    sums = np.zeros((1, DOCUMENTS, len(TERMS)))
    sums[0, :, 0], sums[0, :, 1], sums[0, :, 2] = (
        hits,
        WORDS_OF_DOCUMENT - hits,
        WORDS_OF_DOCUMENT - hits,
    )
    sums[0, :, 3], sums[0, :, 4] = hits, WORDS_OF_DOCUMENT
    layer = int(site.split(".")[1]) if site.count(".") > 1 else None
    names = ("task", "side", "site", "layer", "head", "seed", "control")
    place = dict(zip(names, (task, side, site, layer, None, seed, control), strict=True))
    return Score(place | {"estimator": "linear"}, Counts(sums, np.zeros((1, 1, 3))))


def write(folder, scores):
    """What a run of probes leaves in its folder."""
    folder.mkdir(parents=True)
    numbers = [scored.names | row for scored in scores for row in measure(scored).values()]
    rows = Results(tabulate(numbers)).wide().assign(selectivity=0.1)
    rows.astype({"layer": "Int64"}).to_parquet(folder / "rows.parquet")
    tables = [
        pd.DataFrame(scored.counts.sums[0], columns=list(TERMS)).assign(
            document=[f"d{i}" for i in range(DOCUMENTS)], **scored.names
        )
        for scored in scores
    ]
    pd.concat(tables).astype({"head": "Int64"}).to_parquet(folder / "documents.parquet")
    (folder / "settings.json").write_text(json.dumps({"store": {"model": {"name": folder.name}}}))
    return folder


def write_store(path, samples=60):
    """Role weights: head 0 takes role 1 before every noun, head 1 is flat."""
    rng = np.random.default_rng(0)
    specs = {"decoder.1.cross.role_weights": SiteSpec(("target", "head", "n_roles"), (2, 4))}
    writer = StoreWriter.create(path, specs, {"model": {"name": "made"}})
    tables, weights = [], []
    for sample in range(samples):
        tags = rng.choice(["NN", "VB"], 6).tolist()
        table = pd.DataFrame({"token": ["<s>", *tags], WORD: range(-1, 6), "pos": ["", *tags]})
        tables.append(table.assign(side="target", sample=sample, position=range(7)))
        clusters = [1 if tag == "NN" else 2 for tag in tags] + [0]
        rows = np.full((7, 2, 4), 0.25)
        rows[:, 0] = np.eye(4)[clusters] * 0.99 + 0.0025
        weights.append(rows)
    values = {"decoder.1.cross.role_weights": np.concatenate(weights)}
    writer.append(values, pd.concat(tables, ignore_index=True))
    writer.finish()
    return open_store(path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("probing")


@pytest.fixture(scope="module")
def page(folder):
    for kind in ("read", "written"):
        write_store(folder / f"{DISCRETE}.{kind}.store")
    probed = {"written": {}, "coded": {}, "generated": {}, "span-conv": {}, "read": {}}
    for name in MODELS:
        kinds = RIGHT if name == DISCRETE else {"filler": 5}
        real = [
            score(task, f"decoder.{layer}.cross.{kind}", "real", right + layer)
            for task, layer, (kind, right) in itertools.product(TASKS, (0, 1), kinds.items())
        ]
        controls = [score(task, "", "majority", 2) for task in TASKS]
        controls += [score(task, "", "identity", 7) for task in TASKS]
        controls += [score(task, "previous word", "previous", 3) for task in TASKS]
        for control, right in (("untrained", 2), ("indices", 3), ("quantized", 6)):
            controls += [score(task, "decoder.1.cross.role", control, right) for task in TASKS]
        encoder_scores = [score(t, "encoder.0.hidden", "real", 9, "source") for t in TASKS]
        encoder_scores += [score(t, "encoder.0.hidden", "untrained", 5, "source") for t in TASKS]
        runs = {"written": real + controls, "coded": real, "generated": real, "span-conv": real}
        runs["read"] = encoder_scores
        for kind, scores in runs.items():
            probed[kind][name] = Probed(name, write(folder / f"{name}.{kind}", scores))
    six = plant_roles([0], variants=("t5", "tpt-d"))
    return probing.write_page(probed, folder, plant_roles([0]), {"six-layers": six})


def lines_of(page, words):
    return [line for line in page.splitlines() if words in line]


def test_every_claim_about_probing_has_its_verdict(page):
    claim_ids = [claim.id for claim in claims_of("probing")]
    assert len(claim_ids) == 16
    for name, claim in load_claims().items():
        assert (claim.quotation in page) == (name in claim_ids), name
    assert [row[0] for row in read_page("probing", page)] == claim_ids
    for words, verdict in (
        ("a trend of increasing scores", "holds"),
        ("outperform the roles and fillers alone", "holds"),
        ("role attention distributions", "fails"),
        ("encoded in these discrete role vectors", "fails"),
        ("only achieve similar F1 scores to the fillers", "fails"),
        ("at every layer, regarding the syntactic features", "undecided"),
        ("pushes the role vector space to be even more discrete", "undecided"),
    ):
        (line,) = lines_of(page, words)
        assert line.endswith(f"| {verdict} |"), line


def test_three_seeds_decide_what_one_does_not():
    outcomes = {}
    for seeds, tpr, filler in (((0, 1), 0.9, 0.8), ((0, 1, 2), 0.9, 0.8), ((0, 1, 2), 0.6, 0.8)):
        evidence = seed_evidence(plant_roles(seeds, tpr, filler))
        verdicts = {
            name: judge(load_claims()[name], measured) for name, measured in evidence.items()
        }
        outcomes[len(seeds), tpr] = {name: verdict.outcome for name, verdict in verdicts.items()}
    two, better, worse = outcomes.values()
    assert set(two.values()) == {"undecided"}
    for name in ("every-layer", "dep-srl-better", "nel-better", "pos-last-three"):
        assert (better[f"jiang-{name}"], worse[f"jiang-{name}"]) == ("holds", "fails"), name
    for name, outcome in (
        ("more-discrete", "holds"),  # .36 at half of the training, .75 at its end
        ("discrete", "fails"),
        ("pos-role", "holds"),
        ("pos-tpr-aggregates", "holds"),
        ("nel-roles-poorer", "undecided"),
    ):
        assert better[f"jiang-{name}"] == outcome, name


def test_three_seeds_of_the_longer_training_decide():
    """It has one start and one measured step, so it says nothing on how roles become discrete."""
    study, four = plant_roles([0, 1, 2], tpr=0.6), ("t5", "t5-torch", "tpt-c", "tpt-d")
    for seeds, level, step in (([0, 1], 0.6, 3750), ([0, 1, 2], 0.9, 9000)):
        longer = plant_roles(seeds, tpr=0.9, variants=four, steps=(9000,))
        companions = {"longer": longer}
        claims = [load_claims()[f"jiang-{name}"] for name in ("nel-better", "more-discrete")]
        better, discreteness = decide(claims, gather_seeds(study, companions), {})
        assert better.outcome == ("holds" if level > 0.8 else "fails")
        assert better.reason.endswith(f"; after {step:,} steps")
        assert ("both torch" if step == 9000 else "started alike") in better.reason
        assert (discreteness.outcome, discreteness.reason[-17:]) == ("holds", "after 3,750 steps")
        assert f" after {step:,} steps (" in summarize_seeds(study, companions)
        study_peak, *other_peaks = list_peaks(study, companions)
        assert study_peak["steps"] == ("1,800" if step == 3750 else "9,000")
        assert {"training": "the study", "steps": "3,750"}.items() <= other_peaks[
            -1 if step == 9000 else 0
        ].items()


def test_f1_of_several_models_is_that_of_sums_over_reports():
    """Its interval is wider than over reports alone, as seeds differ."""
    roles = plant_roles([0, 1, 2], n=60)
    cells = [
        roles.reports[f"tpt-d-{seed}:pos.1.tpr"].str.split("/", expand=True).astype(int)
        for seed in range(3)
    ]
    interval = mean_measure(roles, {"pos.1.tpr": 1.0})
    assert interval.value == pytest.approx(
        np.mean([cell[0].sum() / cell[1].sum() for cell in cells])
    )
    assert interval.low < interval.value < interval.high
    one_model = mean_measure(plant_roles([0]), {"pos.1.tpr": 1.0}, "tpt-d")
    assert np.isfinite(one_model.value)


def test_the_answer_and_tables_of_seeds_are_told(page):
    assert lines_of(page, "after 3,750 steps (mean over both initializations; 1 seed):")
    assert lines_of(page, "| TPT-d |") == []
    assert (
        len(lines_of(page, "| tpt-d | decoder.cross | 0 | 0.12 (0.12–0.12) | 0.36 (0.36–0.36) |"))
        == 2
    )
    assert lines_of(page, "| task | layer | vector | t5 | tpt-d |")  # of six decoder layers
    summary = summarize_leads(plant_roles([0, 1, 2]))
    assert "| POS | started alike | +" in summary
    assert summarize_seeds(plant_roles([0], variants=("t5", "tpt-c"))) == ""


def test_tables_stand_beside_the_verdicts(page):
    assert len(lines_of(page, "| decoder.1.cross.role |")) == len(TASKS) + 1  # what is written
    assert lines_of(
        page, "| task | most frequent label | most frequent label of the word to come |"
    )
    assert len(lines_of(page, "encoder.0.hidden")) == len(MODELS)
    assert lines_of(page, "0.500 | 0.500")  # of the role distributions those of head 0 are peaked


def test_contrasts_are_paired_by_document(folder, page):
    place = Place(folder / f"{DISCRETE}.written", "pos", "decoder.1.cross.tpr")
    with_itself = compare(contrasts.minus, [place, place])
    assert (with_itself.value, with_itself.low, with_itself.high) == (0, 0, 0)
    role_place = Place(folder / f"{DISCRETE}.written", "pos", "decoder.1.cross.role")
    difference = compare(contrasts.minus, [place, role_place])
    assert difference.low < difference.value < difference.high
    assert difference.low > 0.3


@pytest.mark.parametrize(
    ("statistic", "expected"),
    [
        (contrasts.slope, 0.2),
        (contrasts.minus, -0.2),
        (contrasts.first_minus_best, -0.4),
        (contrasts.lowest_minus_last, -0.4),
    ],
)
def test_statistics_of_scores(statistic, expected):
    assert statistic(np.array([[0.1, 0.3, 0.5]]))[0] == pytest.approx(expected)


def test_roles_of_a_dictionary_are_named_by_the_word_they_predict(tmp_path):
    store = write_store(tmp_path / "store", 300)
    names = name_dictionary(store, "decoder.-1.cross.role_weights")
    head_names = names[names["head"] == 0].set_index("role")
    assert head_names.loc[1, "name"] == "NN"
    assert head_names.loc[2, "name"] == "VB"
    assert head_names.loc[1, "precision"] == 1
    assert {*names.loc[names["head"] == 1, "name"]} == {"unnamed"}
    tokens = store.tokens
    rows, words = read_fields(tokens, ahead=True)
    assert len(rows) == 300 * 6
    assert (tokens["pos"].to_numpy()[rows + 1] == words["pos"]).all()
    own_rows, own_words = read_fields(tokens, ahead=False)
    assert (tokens["pos"].to_numpy()[own_rows] == own_words["pos"]).all()
    assert own_words["place"].max() == 6
    assert (own_words.loc[own_words["place"] == 1, "before"] == "none").all()
