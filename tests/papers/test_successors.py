"""Networks that are built to bind: sites whose edits go on, losses, and worlds with systematic splits."""

from typing import Any

import pytest
import torch

import tprprobe as tp
from tprpapers.successors.stories import PERSONS
from tprprobe.errors import InputError
from tprprobe.models import build
from tprprobe.models.decoding.generation import generate

MODELS = ("fast-weight-memory", "tpr-rnn", "aid", "d3")
VOCAB, PAD, D = 15, 1, 4
SOURCE = torch.tensor([[4, 9, 5, 10, 6, 4], [7, 11, 6, 7, PAD, PAD]])
TARGET = torch.tensor([[2, 9], [2, 11]])


def model_of(name: str, **options: Any) -> Any:
    sizes = {"vocab_size": VOCAB, "d_embedding": 6, "d_role": D}
    return build({"architecture": name} | sizes | options, seed=3).eval()


@torch.no_grad()
def read(model: Any, source: torch.Tensor, edits: Any = None) -> tuple[torch.Tensor, dict]:
    with tp.intervene(model, edits or {}), tp.capture(model, "*") as acts:
        logits = model(source, TARGET[: len(source)])
    return logits, dict(acts)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("site", ["role", "filler", "binding", "tpr", "hidden"])
def test_an_edit_at_a_step_goes_on_to_later_steps_alone(name, site):
    model = model_of(name)
    logits, before = read(model, SOURCE[:1])
    patch = tp.interventions.patch(before[f"encoder.0.{site}"])
    assert torch.equal(read(model, SOURCE[:1], {f"encoder.0.{site}": patch})[0], logits)
    step = 1  # the last symbol of a sentence
    edit = tp.interventions.set_to(
        torch.full(before[f"encoder.0.{site}"].shape[-1:], 0.3), positions=[step]
    )
    edited, after = read(model, SOURCE[:1], {f"encoder.0.{site}": edit})
    changed = (before["encoder.0.tpr"] != after["encoder.0.tpr"]).any(-1)[0]
    assert changed.tolist() == [False] * step + [True] * (6 - step)
    assert not torch.equal(edited[:, 0], logits[:, 0])


@pytest.mark.parametrize("name", [*MODELS, "soft-tpr", "tree-machine", "tp-n2f"])
def test_pads_change_nothing_and_a_cache_gives_the_same(name):
    others = {"soft-tpr": soft_tpr, "tree-machine": tree_machine, "tp-n2f": tp_n2f}
    model = others[name]() if name in others else model_of(name)
    together = model(SOURCE, TARGET)
    alone = model(SOURCE[1:, :4], TARGET[1:])
    assert torch.allclose(together[1:], alone, atol=1e-6)
    memory = model.encode(SOURCE)
    first, cache = model.decode(TARGET[:, :1], memory)
    second, _ = model.decode(TARGET[:, 1:], memory, cache)
    assert torch.allclose(torch.cat([first, second], 1), together, atol=1e-6)
    written = generate(model, SOURCE, 4)
    assert torch.equal(generate(model, SOURCE[1:, :4], 4)[0, :2], written[1, :2])
    assert generate(model, SOURCE, 4, beam=2).shape[0] == 2


def soft_tpr(**options: Any) -> Any:
    return model_of("soft-tpr", **{"d_role": 8, "d_filler": 5, "d_model": 7} | options)


def test_the_losses_of_a_soft_tpr_train_its_dictionary_and_its_roles():
    model = soft_tpr().train()
    torch.manual_seed(0)
    source = torch.randint(4, VOCAB, (32, 6))
    soft, fillers, bindings = model.bind(source)
    model.quantization_loss(soft).backward()
    used = torch.cdist(soft.flatten(0, 1), model.fillers.weight).argmin(-1).unique()
    assert model.fillers.weight.grad[used].any(1).all()
    model.zero_grad()
    loss = model.pair_loss(source, fillers.detach(), bindings.detach())
    loss.backward()
    assert model.output.weight.grad.any()
    assert model.fillers.weight.grad is None or not model.fillers.weight.grad.any()
    model.zero_grad()
    model.decode(source[:, :2], model.encode(source))[0].sum().backward()
    with_losses = model.to_tpr.weight.grad.clone()
    model.zero_grad()
    model.eval().decode(source[:, :2], model.encode(source))[0].sum().backward()
    assert not torch.allclose(with_losses, model.to_tpr.weight.grad)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"n_roles": 5}, r"a source of 6 symbols"), ({"d_role": 4}, r"6 are not orthonormal in 4")],
)
def test_a_soft_tpr_has_a_role_for_every_symbol(options, message):
    with pytest.raises(InputError, match=message):
        soft_tpr(**options).encode(SOURCE)


def tree_machine() -> Any:
    sizes = {"vocab_size": VOCAB, "d_filler": 5, "n_levels": 4, "d_model": 8, "d_ff": 8}
    return build({"architecture": "tree-machine"} | sizes, seed=3).eval()


def tp_n2f() -> Any:
    return build({"architecture": "tp-n2f", "vocab_size": VOCAB, "d_embedding": 6}, seed=3).eval()


def test_programs_are_translated_and_the_test_has_products_that_training_lacks():
    relations = {"add": "add", "take": "subtract", "multiply": "multiply", "divide": "divide"}
    products: dict[str, set[str]] = {}
    for split in ("train", "dev", "test"):
        numbers = products.setdefault(split, set())
        for example in tp.load_data("programs", split=split, n=1000):
            clauses = [clause.split() for clause in example.source.split(" then ")]
            tuples = [example.target.split()[i : i + 3] for i in range(0, 3 * len(clauses), 3)]
            assert [relations[clause[0]] for clause in clauses] == [row[0] for row in tuples]
            for (verb, first, _, second), (_, *arguments) in zip(clauses, tuples, strict=True):
                is_product = verb in ("multiply", "divide")
                assert arguments == ([first, second] if is_product else [second, first])
                numbers |= {*arguments} - {"it"} if is_product else set()
    assert products["train"] == products["dev"]
    assert not products["train"] & products["test"]
    with pytest.raises(InputError, match="programs has no settings"):
        tp.load_data("programs:4")


@pytest.mark.parametrize(
    ("model", "length", "message"),
    [
        ("tree-machine", 9, "reads a function and 7 nodes"),
        ("tpr-rnn", 3, "a source of 3 symbols: this model reads sentences of 2"),
    ],
)
def test_a_source_of_another_length_is_told(model, length, message):
    module = tree_machine() if model == "tree-machine" else model_of(model)
    with pytest.raises(InputError, match=message):
        module.encode(torch.full((1, length), 4))


@pytest.mark.parametrize("world", ["recall:pairs=3,size=6", "stories", "trees", "programs"])
def test_splits_share_no_source(world):
    splits = [
        {example.source for example in tp.load_data(world, split=split)}
        for split in ("train", "dev", "test")
    ]
    assert list(map(len, splits)) == [20_000, 2_000, 2_000]
    assert len(set.union(*splits)) == 24_000


def test_the_test_of_recall_has_only_pairs_that_training_lacks():
    def pairs(split: str) -> set[tuple[str, str]]:
        found = set()
        for example in tp.load_data("recall:pairs=3,size=6", split=split, n=2000):
            symbols = example.source.split()
            bound = dict(zip(symbols[:-2:2], symbols[1:-2:2], strict=True))
            assert (symbols[-2], bound[symbols[-1]]) == ("?", example.target)
            found |= set(bound.items())
        return found

    assert pairs("train") == pairs("dev")
    assert not pairs("train") & pairs("test")
    assert len(pairs("test")) == 36


def follow(story: list[str]) -> str:
    """Where what is asked for is, by another reading of a story: from its end."""
    *sentences, question = [story[i : i + 3] for i in range(0, len(story), 3)]
    wanted = question[2]
    if wanted not in PERSONS:
        wanted = next(
            who for who, verb, what in sentences[::-1] if (verb, what) == ("takes", wanted)
        )
    return next(what for who, verb, what in sentences[::-1] if (who, verb) == (wanted, "goes"))


def cut(tree: list[str], path: str) -> list[str]:
    """A subtree, by another reading of the nodes: level by level, from its place in every level."""
    levels = [tree[2**level - 1 : 2 ** (level + 1) - 1] for level in range(4)]
    for step in path:
        levels = [row[len(row) // 2 * int(step) :][: len(row) // 2] for row in levels[1:]]
    return [letter for row in levels for letter in row]


def test_trees_yield_subtrees_and_the_test_has_letters_that_training_lacks():
    letters: dict[str, set[str]] = {}
    for split in ("train", "dev", "test"):
        for example in tp.load_data("trees", split=split, n=1500):
            function, *tree = example.source.split()
            path = function[1:-1][::-1].replace("a", "0").replace("d", "1")
            assert example.target.split() == cut(tree, path)
            if len(path) == 2:
                letters.setdefault(split, set()).update(example.target.split())
    assert letters["train"] == letters["dev"]
    assert not letters["train"] & letters["test"]


@pytest.mark.parametrize("split", ["train", "test"])
def test_stories_have_the_answers_that_follow(split):
    takers = set()
    for example in tp.load_data("stories", split=split, n=500):
        story = example.source.split()
        assert example.target == follow(story)
        takers |= {story[i] for i in range(0, len(story), 3) if story[i + 1] == "takes"}
    half = len(PERSONS) // 2
    assert takers == set(PERSONS[half:] if split == "test" else PERSONS[:half])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("recall:sise=4", "size"),
        ("recall:pairs=9,size=3", "give 1 to `size` pairs"),
        ("stories:sentences=1", "give 2 or more sentences"),
    ],
)
def test_bad_settings_are_one_line(name, message):
    with pytest.raises(InputError, match=message) as error:
        tp.load_data(name)
    assert "\n" not in str(error.value)
