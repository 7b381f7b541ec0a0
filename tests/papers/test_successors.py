"""Networks that are built to bind: their equations in numpy, sites whose edits go on, and worlds with systematic splits."""

from typing import Any

import numpy as np
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


def weights(module: torch.nn.Module) -> dict[str, np.ndarray]:
    return {name: value.double().numpy() for name, value in module.state_dict().items()}


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def lstm(w: dict, prefix: str, x: np.ndarray, h: np.ndarray, c: np.ndarray) -> tuple:
    gates = w[f"{prefix}.weight_ih"] @ x + w[f"{prefix}.bias_ih"]
    i, f, g, o = np.split(gates + w[f"{prefix}.weight_hh"] @ h + w[f"{prefix}.bias_hh"], 4)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def affine(w: dict, name: str, x: np.ndarray) -> np.ndarray:
    return w[f"{name}.weight"] @ x + w[f"{name}.bias"]


def normalize(x: np.ndarray, eps: float = 1e-5) -> np.ndarray:
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps)


def write_delta(
    memory: np.ndarray, role: np.ndarray, filler: np.ndarray, gate: float
) -> np.ndarray:
    s, r = role[:D], role[D:]
    recalled = np.einsum("srv,s,r->v", memory, s, r)
    memory = memory + np.einsum("s,r,v->srv", s, r, gate * (filler - recalled) / D)
    return memory / max(1.0, float(np.linalg.norm(memory)))


def test_a_fast_weight_memory_follows_its_equations():
    model = model_of("fast-weight-memory", d_model=7, n_reads=2)
    w = {name: 3 * value for name, value in weights(model).items()}  # so that ‖F‖ exceeds 1
    model.load_state_dict({name: torch.tensor(value).float() for name, value in w.items()})
    logits, acts = read(model, SOURCE[:1])
    h, c, memory = np.zeros(7), np.zeros(7), np.zeros((D, D, D))
    for symbol in [*SOURCE[0].tolist(), *TARGET[0].tolist()]:
        h, c = lstm(w, "lstm", w["embedding.weight"][symbol], h, c)
        written = np.tanh(affine(w, "to_written", h))
        gate = sigmoid(affine(w, "to_gate", h) + 1)[0]
        memory = write_delta(memory, written[: 2 * D], written[2 * D :], gate)
    vector, *keys = np.split(affine(w, "to_unbinding", h), 3)
    for key in keys:
        vector = normalize(np.einsum("srv,s,r->v", memory, vector, np.tanh(key)))
    expected = w["output.weight"] @ (h + affine(w, "from_memory", vector))
    np.testing.assert_allclose(logits[0, -1].numpy(), expected, rtol=2e-4, atol=2e-4)
    last = acts["decoder.0.tpr"][0, -1].numpy()
    np.testing.assert_allclose(last, memory.ravel(), atol=1e-5)
    assert np.linalg.norm(last) == pytest.approx(1, abs=1e-5)


def test_a_tpr_rnn_writes_moves_and_links_back_as_its_equations_say():
    model = model_of("tpr-rnn", d_model=7)
    w = weights(model)
    logits, acts = read(model, SOURCE[:1])
    symbols = SOURCE[0].tolist()

    def mlp(name: str, sentence: np.ndarray) -> np.ndarray:
        return np.tanh(affine(w, f"{name}.2", np.tanh(affine(w, f"{name}.0", sentence))))

    def recall(memory: np.ndarray, entity: np.ndarray, relation: np.ndarray) -> np.ndarray:
        return np.einsum("erf,e,r->f", memory, entity, relation)

    memory = np.zeros((D, D, D))
    for start in (0, 2):
        pair = w["embedding.weight"][symbols[start : start + 2]]
        sentence = (pair * w["places"]).sum(0)
        e1, e2, r1, r2, r3 = (mlp(f"to_components.{i}", sentence) for i in range(5))
        old, moved, linked = recall(memory, e1, r1), recall(memory, e1, r2), recall(memory, e2, r3)
        for entity, relation, change in (
            (e1, r1, e2 - old),
            (e1, r2, old - moved),
            (e2, r3, e1 - linked),
        ):
            memory = memory + np.einsum("e,r,f->erf", entity, relation, change)
    np.testing.assert_allclose(acts["encoder.0.tpr"][0, -1].numpy(), memory.ravel(), atol=1e-6)
    question = (w["embedding.weight"][symbols[4:]] * w["places"]).sum(0)
    vector, *relations = (mlp(f"to_unbinding.{i}", question) for i in range(4))
    total = np.zeros(D)
    for relation in relations:
        vector = normalize(recall(memory, vector, relation), 1e-7)
        total += vector
    answer = logits[0, 0].numpy()[4:]
    np.testing.assert_allclose(answer, (w["output.weight"] @ total)[4:], atol=2e-3)
    assert logits[0].argmax(-1).tolist()[1] == model.config.eos


def test_slots_compete_for_parts_as_in_the_equations_of_aid():
    model = model_of("aid", d_model=5, d_part=3)
    w, rng = weights(model.competition), np.random.default_rng(0)
    first, parts = rng.normal(size=(3, D)), rng.normal(size=(2, 5))
    key = np.where((k := parts @ w["to_key.weight"].T + w["to_key.bias"]) > 0, k, np.exp(k) - 1) + 1
    value, slots = parts @ w["to_value.weight"].T + w["to_value.bias"], first
    for _ in range(2):
        query = (slots @ w["to_query.weight"].T + w["to_query.bias"] + first) / np.sqrt(D)
        query = np.where(query > 0, query, np.exp(query) - 1) + 1
        shares = np.exp(key @ query.T)
        shares = shares / shares.sum(1, keepdims=True) + 1e-8  # of a part, among slots
        update = normalize((shares / shares.sum(0)).T @ value)
        hidden = np.maximum(update @ w["mlp.0.weight"].T + w["mlp.0.bias"], 0)
        slots = slots + (hidden @ w["mlp.2.weight"].T + w["mlp.2.bias"]) / D
    joined = np.concatenate([first, slots], 1)
    expected = np.tanh(joined @ w["project.weight"].T + w["project.bias"])
    made = model.competition(torch.tensor(first).float(), torch.tensor(parts).float())
    np.testing.assert_allclose(made.detach().numpy(), expected, atol=1e-5)


def test_components_of_d3_are_means_of_the_nearest_entries():
    model = model_of("d3", d_model=5, n_entries=9, n_chosen=2, d_key=3, d_value=5)
    w, h = weights(model), np.random.default_rng(0).normal(size=5)
    queries = normalize(affine(w, "binding_query", h).reshape(3, 3))
    components = []
    for i, query in enumerate(queries):
        keys = w[f"dictionaries.{i}.keys"]
        scores = keys @ query / np.linalg.norm(keys, axis=1)
        chosen = np.argsort(-scores)[:2]
        shares = np.exp(scores[chosen]) / np.exp(scores[chosen]).sum()
        value = shares @ w[f"dictionaries.{i}.values"][chosen]
        components.append(
            np.tanh(affine(w, "to_component", value + affine(w, "from_query", query)))
        )
    role, filler = model.decompose(torch.tensor(h).float()[None, None])
    made = torch.cat([role, filler], -1)[0, 0].detach().numpy()
    np.testing.assert_allclose(made, np.concatenate(components), atol=1e-5)
    assert model.query(torch.zeros(1, 1, 5)).shape == (1, 1, 2 * D)


@pytest.mark.parametrize("name", MODELS)
def test_every_step_has_its_sites_and_every_weight_a_gradient(name):
    model = model_of(name)
    _, acts = read(model, SOURCE)
    shapes = {site: tuple(vectors.shape[:2]) for site, vectors in acts.items()}
    parts = ("role", "filler", "binding", "tpr", "hidden")
    assert {site: shape for site, shape in shapes.items() if site.startswith("encoder")} == {
        f"encoder.0.{part}": (2, 6) for part in parts
    }
    assert {site for site in shapes if site.startswith("decoder")} == {
        f"decoder.0.{part}" for part in (*parts, "unbinding")
    }
    model(SOURCE, TARGET).log_softmax(-1)[..., 4:].mean().backward()
    still = [name for name, p in model.named_parameters() if p.grad is None or not p.grad.any()]
    assert set(still) <= {"to_components.4.0.bias"}  # of a link back, in a question of one read


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


def test_a_soft_tpr_is_unbound_quantized_and_bound_again():
    model = soft_tpr()
    w = weights(model)
    logits, acts = read(model, SOURCE)
    np.testing.assert_allclose(w["role_vectors"] @ w["role_vectors"].T, np.eye(6), atol=1e-6)
    for row, last in ((0, 5), (1, 3)):
        soft = acts["encoder.0.tpr"][row, last].double().numpy().reshape(5, 8) @ w["role_vectors"].T
        distances = ((soft.T[:, None] - w["fillers.weight"]) ** 2).sum(-1)
        fillers = w["fillers.weight"][distances.argmin(1)]
        tpr = (fillers.T @ w["role_vectors"]).ravel()
        np.testing.assert_allclose(acts["decoder.0.tpr"][row, 0].numpy(), tpr, atol=1e-5)
        written = affine(w, "output", np.maximum(affine(w, "to_hidden", tpr), 0))
        np.testing.assert_allclose(logits[row].numpy(), written.reshape(7, -1)[:2], atol=1e-4)


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


def test_car_cdr_and_cons_are_maps_of_the_roles_of_a_tree():
    model = tree_machine()
    letters = torch.tensor([[4, 5, 6, 7, 8, 9, 10, 11]])  # a function and 7 nodes
    _, acts = read(model, letters)
    fillers, roles = model.embedding.weight.detach(), model.role_vectors
    whole = acts["encoder.0.tpr"][0, -1].view(5, 15)
    nodes = [0, 1, 3, 4, 7, 8, 9, 10]  # of the left child, level by level
    expected = sum(
        torch.outer(fillers[f], roles[n]) for f, n in zip(letters[0], nodes, strict=True)
    )
    assert torch.allclose(whole, expected, atol=1e-6)
    root = fillers[4][None]

    def operate(first: torch.Tensor, second: torch.Tensor, operation: int) -> torch.Tensor:
        weights = torch.eye(3)[operation][None]
        return model.operate(torch.stack([first, second, first, second])[None], root, weights)

    car, cdr = (operate(whole, whole, i).view(5, 15) for i in (0, 1))
    assert torch.allclose((car @ roles.T).mT[:3], fillers[[5, 6, 7]], atol=1e-5)
    assert torch.allclose(cdr, torch.zeros(5, 15), atol=1e-5)  # there is no right child
    assert torch.allclose(operate(car, cdr, 2).view(5, 15), whole, atol=1e-5)


def test_a_tree_machine_mixes_operations_and_reads_the_last_tree():
    model, letters = tree_machine(), torch.tensor([[4, 5, 6, 7, 8, 9, 10, 11]])
    car = torch.tensor([[1.0, 0.0, 0.0]])
    logits, acts = read(model, letters, {f"machine.{i}.operation": lambda _: car for i in range(3)})
    last = acts["machine.2.tpr"].view(5, 15)
    weight = model.embedding.weight.detach()
    expected = (
        model.scale.detach() * (weight @ last @ model.role_vectors[:2].T).T + model.bias.detach()
    )
    assert torch.allclose(logits[0], expected, atol=1e-5)
    model(letters, TARGET[:1]).log_softmax(-1).mean().backward()
    still = [name for name, p in model.named_parameters() if p.grad is None or not p.grad.any()]
    assert still == []


def tp_n2f() -> Any:
    return build({"architecture": "tp-n2f", "vocab_size": VOCAB, "d_embedding": 6}, seed=3).eval()


def test_tp_n2f_binds_words_and_unbinds_tuples_as_in_its_equations():
    model, target = tp_n2f(), torch.tensor([[2, 9, 8, 7, 5, 6]])
    w, source = weights(model), SOURCE[:1, :3]
    with torch.no_grad(), tp.capture(model, "*") as acts:
        logits = model(source, target)[0].numpy()
    binding, filler_cell, role_cell, bindings = np.zeros(48), np.zeros(48), np.zeros(48), []
    for word in w["embedding.weight"][source[0]]:
        h_filler, filler_cell = lstm(w, "filler_lstm", word, binding, filler_cell)
        h_role, role_cell = lstm(w, "role_lstm", word, binding, role_cell)
        filler = w["fillers.weight"] @ softmax(affine(w, "to_filler_scores", h_filler))
        role = w["roles.weight"] @ softmax(affine(w, "to_role_scores", h_role))
        bindings.append(binding := np.outer(filler, role).ravel())
    tpr = np.sum(bindings, 0)
    np.testing.assert_allclose(acts["encoder.0.tpr"][0, -1].numpy(), tpr, atol=1e-5)
    keys, cell = [affine(w, "to_keys", b) for b in bindings], affine(w, "to_start", tpr)
    state, written = np.tanh(cell), [2, 2, 2]
    for first in (0, 3):
        written = (written + target[0, first - 2 : first + 1].tolist())[-3:]
        inputs = w["tuple_embedding.weight"][written].ravel()
        h, cell = lstm(w, "tuple_lstm", inputs, state, cell)
        shares = softmax(np.array(keys) @ w["to_query.weight"] @ h)
        state = np.tanh(w["to_tuple.weight"] @ np.concatenate([shares @ keys, h]))
        places = np.einsum("aup,pi->aui", state.reshape(8, 4, 2), w["position_vectors"])
        unbinding = affine(w, "to_unbinding", places.sum(-1).ravel())
        expected = [affine(w, "relation_output", unbinding)] + [
            affine(w, "argument_output", places[..., i] @ unbinding) for i in (0, 1)
        ]
        np.testing.assert_allclose(logits[first : first + 3], expected, atol=1e-5)


def softmax(scores: np.ndarray) -> np.ndarray:
    shares = np.exp(scores - scores.max())
    return shares / shares.sum()


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
