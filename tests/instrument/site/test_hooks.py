"""Sites of every architecture, reading them, replacing them, and giving them to foreign modules."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tprprobe.errors import InputError
from tprprobe.models import build
from tprprobe.site.attachment import attach
from tprprobe.site.hooks import PlacedEdit, capture, find_sites, intervene, sites
from tprprobe.site.patterns import side_of, sides_of
from tprprobe.site.site import Site

HEAD, WIDE, MAP = (
    "batch × seq × head × d_head",
    "batch × seq × d_model",
    "batch × head × query × key",
)
WEIGHTS = "batch × seq × head × n_roles"
SIZES = {"d_model": 16, "n_heads": 2, "n_layers": (2, 1), "d_ff": 24}
T5_SIZES = {**SIZES, "d_head": 8, "vocab_size": 30, "n_roles": 5}
SOURCE, TARGET = torch.tensor([[2, 9, 8, 7, 3], [2, 6, 3, 1, 1]]), torch.tensor([[2, 9], [2, 8]])


def attention_sites(prefix: str, **bound: tuple[str, int]) -> dict[str, tuple[str, int | None]]:
    axes = {
        "input": (WIDE, 16),
        **dict.fromkeys(("query", "key", "value"), (HEAD, 8)),
        "attention": (MAP, None),
        **bound,
    }
    return {f"{prefix}.{name}": site for name, site in axes.items()}


def expected_sites(bound: dict, embedding: bool) -> dict[str, tuple[str, int | None]]:
    """The table of the design: names, axes and widths for two encoder layers and one decoder's."""
    names = ("filler", "role", "binding") if embedding else ()
    table = {f"embedding.{side}{name}": (WIDE, 16) for side in ("", "target.") for name in names}
    for prefix in ("encoder.0.self", "encoder.1.self", "decoder.0.self", "decoder.0.cross"):
        table |= attention_sites(prefix, **bound)
    return table | {
        f"{layer}.hidden": (WIDE, 16) for layer in ("encoder.0", "encoder.1", "decoder.0")
    }


HADAMARD = dict.fromkeys(("filler", "role", "binding"), (HEAD, 8)) | {"tpr": (WIDE, 16)}
OUTER = HADAMARD | {"binding": (HEAD, 64)}
AFTER = dict.fromkeys(("filler", "binding", "tpr"), (WIDE, 16)) | {"role": (HEAD, 8)}
INSIDE = dict.fromkeys(("filler", "binding", "tpr", "role"), (HEAD, 8))
ARCHITECTURES = {
    "tp-transformer": ({**SIZES}, HADAMARD, True),
    "tp-transformer without embedding": ({**SIZES, "embedding_binding": False}, HADAMARD, False),
    "tp-transformer outer": ({**SIZES, "binding": "outer"}, OUTER, True),
    "tp-transformer roles one": ({**SIZES, "roles": "one"}, HADAMARD, True),
    "transformer": ({**SIZES}, {"filler": (HEAD, 8)}, False),
    "tpt": (T5_SIZES, AFTER | {"role_weights": (WEIGHTS, 5)}, False),
    "tpt single head": (
        {**T5_SIZES, "multi_head": False},
        AFTER | {"role": (HEAD, 16), "role_weights": (WEIGHTS, 5)},
        False,
    ),
    "tpt inside": (
        {**T5_SIZES, "after_residual": False},
        INSIDE | {"role_weights": (WEIGHTS, 5)},
        False,
    ),
    "tpt continuous": (
        {**T5_SIZES, "after_residual": False, "roles": "continuous"},
        INSIDE,
        False,
    ),
    "t5": (T5_SIZES, {"filler": (WIDE, 16)}, False),
}


def model_of(case: str):
    settings, _, _ = ARCHITECTURES[case]
    return build({"architecture": case.split()[0], **settings}, seed=0).eval()


@pytest.mark.parametrize("case", ARCHITECTURES)
def test_sites_are_those_of_the_design_and_of_its_shapes(case):
    model, (_, bound, embedding) = model_of(case), ARCHITECTURES[case]
    table = sites(model)
    assert list(table.columns) == ["site", "axes", "width"]
    widths = table["width"].astype(object).where(table["width"].notna(), None)
    axes = dict(zip(table["site"], zip(table["axes"], widths, strict=True), strict=True))
    assert axes == expected_sites(bound, embedding)
    with capture(model, "*") as acts:
        model(SOURCE, TARGET)
    assert set(acts) == set(axes)
    lengths = {"source": 5, "target": 2}
    for name, site in find_sites(model).items():
        seq, keys = sides_of(name)
        if name.endswith(".attention"):
            assert acts[name].shape == (2, 2, lengths[seq], lengths[keys])
        else:
            assert acts[name].shape[:2] == (2, lengths[side_of(name)])
            assert acts[name].shape[-1] == site.width
            assert acts[name].ndim == len(site.axes)


def test_capture_takes_negative_layers_and_forgets_when_closed(make_model):
    model = make_model()
    with capture(model, ["encoder.-1.self.role", "decoder.-1.*"]) as acts:
        model(SOURCE, TARGET)
    assert "encoder.1.self.role" in acts
    assert {name.split(".")[1] for name in acts} == {"1", "0"}
    before = {name: tensor.clone() for name, tensor in acts.items()}
    model(SOURCE.flip(0), TARGET.flip(0))
    assert all(acts[name].equal(before[name]) for name in acts)
    assert not any(site._forward_hooks for site in find_sites(model).values())


def test_a_module_without_sites_says_how_to_give_some():
    with pytest.raises(InputError, match=r"Linear has no sites.*tp\.attach"):
        sites(nn.Linear(2, 2))


@pytest.mark.parametrize("case", [*ARCHITECTURES, "lstm"])
def test_every_site_is_on_the_way_to_the_logits(case):
    """What is edited at any site is what the rest of the model goes on with."""
    model = build({"architecture": "lstm", "d_model": 8}, 0) if case == "lstm" else model_of(case)
    model = model.double()
    expected = model(SOURCE, TARGET)
    generator = torch.Generator().manual_seed(0)
    for name in find_sites(model):
        with intervene(
            model,
            {name: lambda x: x + torch.rand(x.shape, generator=generator, dtype=torch.float64)},
        ):
            assert not model(SOURCE, TARGET).allclose(expected, rtol=0, atol=1e-9), name


def test_the_last_state_of_an_lstms_question_is_what_its_answer_starts_from():
    model: Any = build({"architecture": "lstm", "d_model": 8}, seed=0)
    with intervene(model, {"encoder.0.hidden": torch.clone}):
        edited = model(SOURCE, TARGET)
    assert edited.equal(model(SOURCE, TARGET))
    with intervene(model, {"encoder.-1.hidden": torch.zeros_like}):
        memory = model.encode(SOURCE)
    assert memory.h.eq(0).all()
    assert memory.c.equal(model.encode(SOURCE).c)


def test_roles_of_one_are_the_plain_attention(make_model):
    """With roles set to one the TP-Transformer computes what it would compute without roles."""
    bound = make_model(embedding_binding=False)
    plain = make_model(embedding_binding=False, roles="none")
    plain.load_state_dict(
        {key: value for key, value in bound.state_dict().items() if "to_role" not in key}
    )
    with intervene(bound, {"*.role": torch.ones_like}):
        assert bound(SOURCE, TARGET).allclose(plain(SOURCE, TARGET), atol=1e-6)
    constant = make_model(embedding_binding=False, roles="one")
    constant.load_state_dict(plain.state_dict())
    assert constant(SOURCE, TARGET).equal(plain(SOURCE, TARGET))


def test_captures_see_the_edits_that_were_opened_before_them(make_model):
    model, name = make_model(), "encoder.0.self.role"
    with (
        capture(model, name) as original,
        intervene(model, {name: torch.zeros_like}),
        capture(model, name) as edited,
    ):
        model(SOURCE, TARGET)
    assert original[name].abs().min() > 0
    assert edited[name].eq(0).all()


def test_edits_of_one_site_follow_one_another(make_model):
    model, name = make_model(), "encoder.0.self.role"
    with (
        intervene(model, {name: torch.ones_like, "encoder.0.*.role": lambda x: x * 3}),
        intervene(model, {"encoder.-2.self.role": lambda x: x + 1}),
        capture(model, name) as acts,
    ):
        model(SOURCE, TARGET)
    assert acts[name].eq(4).all()


def test_an_edit_of_another_shape_is_refused(make_model):
    model = make_model()
    with (
        pytest.raises(InputError, match=r"encoder\.0\.self\.role returned shape \(2, 5, 2\)"),
        intervene(model, {"encoder.0.self.role": lambda x: x[..., 0]}),
    ):
        model(SOURCE, TARGET)
    assert not any(site.is_read for site in find_sites(model).values())


class Attention(nn.Module):
    """An attention with the authors' names that calls its parts by keyword and position."""

    def __init__(self, d: int, heads: int):
        super().__init__()
        self.heads = heads
        for letter in "qkvro":
            setattr(self, f"W_{letter}", nn.Linear(d, d))

    def forward(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, None]:
        q, k, v, r = (
            linear(x).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for linear, x in (
                (self.W_q, query),
                (self.W_k, key),
                (self.W_v, value),
                (self.W_r, query),
            )
        )
        v_bar = nn.functional.scaled_dot_product_attention(q, k, v)
        return self.W_o((v_bar * r).transpose(1, 2).flatten(2)), None


class Layer(nn.Module):
    def __init__(self, d: int, heads: int):
        super().__init__()
        self.layernorm1, self.MHA = nn.LayerNorm(d), Attention(d, heads)

    def forward(self, x: Tensor) -> Tensor:
        h = self.layernorm1(x)
        return x + self.MHA(h, h, value=h)[0]


class Foreign(nn.Module):
    """A stand-in for the authors' encoder, with their names of layers."""

    def __init__(self, vocab: int = 73, d: int = 16, heads: int = 2, layers: int = 2):
        super().__init__()
        self.embedding = nn.Embedding(vocab, d)
        self.encoder = nn.Module()
        self.encoder.layers = nn.ModuleList(Layer(d, heads) for _ in range(layers))

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        x = self.embedding(source)
        for layer in self.encoder.layers:
            x = layer(x)
        return x


AUTHORS = {
    f"encoder.{l}.{site}": f"encoder.layers.{l}.{where}"
    for l in range(2)
    for site, where in (
        ("self.input", "layernorm1"),
        ("self.role", "MHA.W_r"),
        ("self.binding", "MHA.W_o:input"),
        ("self.tpr", "MHA"),
        ("hidden", ""),
    )
}
AUTHORS = {site: where.rstrip(".") for site, where in AUTHORS.items()}


def seeded(module_class, *args, **options):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return module_class(*args, **options).eval()


def test_attach_to_a_module_with_the_authors_names():
    module = seeded(Foreign)
    expected = module(SOURCE, TARGET)
    attached = attach(module, AUTHORS, heads=2)
    assert sites(attached)["site"].tolist() == list(AUTHORS)
    with capture(attached, "*") as acts:
        assert attached(SOURCE, TARGET).equal(expected)
    layer = module.encoder.layers[0]
    h = layer.layernorm1(module.embedding(SOURCE))
    assert acts["encoder.0.self.input"].equal(h)
    assert acts["encoder.0.self.role"].equal(layer.MHA.W_r(h).unflatten(-1, (2, 8)))
    assert layer.MHA.W_o(acts["encoder.0.self.binding"].flatten(-2)).equal(
        acts["encoder.0.self.tpr"]
    )
    assert acts["encoder.1.hidden"].equal(expected)


def test_attached_sites_can_be_edited_and_module_stays_as_it_was():
    module = seeded(Foreign)
    keys, expected = list(module.state_dict()), module(SOURCE, TARGET)
    attached = attach(module, AUTHORS, heads=2)
    with intervene(attached, {"encoder.-1.self.role": torch.zeros_like}):
        edited = attached(SOURCE, TARGET)
    layer = module.encoder.layers[1]
    with capture(attached, "encoder.0.hidden") as acts:
        assert module(SOURCE, TARGET).equal(expected)
    assert edited.allclose(acts["encoder.0.hidden"] + layer.MHA.W_o.bias, atol=1e-6)
    with intervene(attached, {"encoder.0.self.binding": torch.zeros_like}):
        assert not attached(SOURCE, TARGET).equal(expected)
    assert list(module.state_dict()) == keys
    assert not any(isinstance(submodule, Site) for submodule in module.modules())


def encoder_stack() -> nn.TransformerEncoder:
    layer = nn.TransformerEncoderLayer(16, 2, 24, batch_first=True, dropout=0.0)
    return nn.TransformerEncoder(layer, num_layers=2, enable_nested_tensor=False)


def call(module: nn.Module, batch: tuple) -> Tensor:
    source, _ = batch
    generator = torch.Generator().manual_seed(0)
    table = torch.randn(73, 16, generator=generator)
    return module(table[source], src_key_padding_mask=source == 1)


@pytest.mark.parametrize("grad", [True, False])
def test_attach_to_torchs_transformer_encoder(grad):
    """Also without gradients, where torch's fused layer calls no submodule unless it is hooked."""
    module = seeded(encoder_stack)
    mapping = {
        f"encoder.{l}.{site}": f"layers.{l}.{where}"
        for l in range(2)
        for site, where in (
            ("self.tpr", "self_attn"),
            ("self.input", "self_attn:input"),
            ("self.attention", "self_attn"),
            ("hidden", "norm2"),
        )
    }
    attached = attach(module, mapping, forward=call)
    with torch.set_grad_enabled(grad), capture(attached, "*") as acts:
        out = attached(SOURCE, TARGET)
    assert set(acts) == set(mapping)
    assert out.allclose(call(seeded(encoder_stack), (SOURCE, TARGET)), atol=1e-6)
    x = acts["encoder.1.self.input"]
    assert x.equal(acts["encoder.0.hidden"])
    assert acts["encoder.1.hidden"].equal(out)
    attention, pads = module.layers[1].self_attn, SOURCE == 1
    _, averaged = attention(x, x, x, key_padding_mask=pads)
    weights = acts["encoder.1.self.attention"]
    assert weights.mean(1).allclose(averaged, atol=1e-6)
    assert not weights[:, 0].allclose(weights[:, 1], atol=1e-3)
    with capture(attached, "*.attention") as acts:
        assert attention(x, x, x, key_padding_mask=pads)[1].allclose(averaged, atol=1e-6)
        assert attention(x, x, x, need_weights=False)[1] is None
    edited_map = intervene(attached, {"encoder.0.self.attention": torch.zeros_like})
    with pytest.raises(InputError, match="read, not edited"), edited_map:
        attached(SOURCE, TARGET)
    with (
        torch.set_grad_enabled(grad),
        intervene(attached, {"encoder.-1.self.tpr": torch.zeros_like}),
    ):
        assert not attached(SOURCE, TARGET).allclose(out)


def test_attach_to_torchs_encoder_as_it_is_made():
    """Without gradients it passes on nested tensors, which are no [batch, seq, …]."""
    nested, plain = (seeded(encoder_stack) for _ in range(2))
    nested.use_nested_tensor = nested.enable_nested_tensor = True
    mapping = {"encoder.0.hidden": "layers.0", "encoder.1.self.tpr": "layers.1.self_attn"}
    captured = []
    for module in (nested, plain):
        attached = attach(module, mapping, forward=call).eval()
        with torch.no_grad(), capture(attached, "*") as acts:
            attached(SOURCE, TARGET)
        captured.append(acts)
    real = SOURCE != 1
    for site in mapping:
        assert captured[0][site][real].allclose(captured[1][site][real], atol=1e-6)
    assert nested.use_nested_tensor, "the module is as it was"


def test_attach_a_map_of_attention():
    class Attending(nn.Module):
        def __init__(self):
            super().__init__()
            self.softmax, self.table = nn.Softmax(-1), nn.Embedding(73, 16)

        def forward(self, source: Tensor, _target: Tensor) -> Tensor:
            x = self.table(source).unflatten(-1, (2, 8)).transpose(1, 2)
            return (self.softmax(x @ x.mT) @ x).transpose(1, 2).flatten(2)

    attached = attach(Attending(), {"encoder.0.self.attention": "softmax"}, heads=2)
    assert sites(attached)["axes"].tolist() == ["batch × head × query × key"]
    with capture(attached, "*") as acts:
        attached(SOURCE, TARGET)
    n = SOURCE.shape[1]
    assert acts["encoder.0.self.attention"].shape == (len(SOURCE), 2, n, n)
    torch.testing.assert_close(
        acts["encoder.0.self.attention"].sum(-1), torch.ones(len(SOURCE), 2, n)
    )
    wrong = attach(Attending(), {"encoder.0.self.attention": "table"})
    with pytest.raises(InputError, match="a map of attention is"), capture(wrong, "*"):
        wrong(SOURCE, TARGET)


@pytest.mark.parametrize(
    ("mapping", "heads", "message"),
    [
        ({"encoder.0.role": "encoder.layers.0.MHA.W_rr"}, None, "did you mean"),
        ({"encoder.0.role": "embedding:output"}, None, "its input 'path:input'"),
        ({"encoder..role": "embedding"}, None, "give a dotted name"),
        ({"encoder": "embedding", "encoder.role": "embedding"}, None, "already used"),
        ({"forward": "embedding"}, None, "already used"),
    ],
)
def test_attach_refuses_what_it_cannot_do(mapping, heads, message):
    with pytest.raises(InputError, match=message):
        attach(Foreign(), mapping, heads=heads)


@pytest.mark.parametrize(
    ("mapping", "heads", "message"),
    [
        ({"encoder.0.role": "encoder.layers.0.MHA.W_r"}, 3, "3 heads do not divide"),
        ({"encoder.0.role": "tuples"}, None, "no tensor"),
    ],
)
def test_reading_refuses_what_is_no_vector(mapping, heads, message):
    class Odd(Foreign):
        def __init__(self):
            super().__init__()
            self.tuples = Tuples()

        def forward(self, source: Tensor, target: Tensor) -> Tensor:
            x = super().forward(source, target)
            self.tuples(x)
            return x

    class Tuples(nn.Module):
        def forward(self, x: Tensor) -> dict[str, Tensor]:
            return {"x": x}

    attached = attach(Odd(), mapping, heads=heads)
    attached(SOURCE, TARGET)  # unread, the site is in nobody's way
    with pytest.raises(InputError, match=message), capture(attached, "*"):
        attached(SOURCE, TARGET)


def test_an_input_by_keyword_is_read_and_edited():
    class Keyword(Foreign):
        def __init__(self):
            super().__init__()
            self.keyword = nn.Identity()

        def forward(self, source: Tensor, target: Tensor) -> Tensor:
            return self.keyword(input=super().forward(source, target))

    attached = attach(Keyword(), {"encoder.0.role": "keyword:input"})
    with capture(attached, "*") as acts:
        output = attached(SOURCE, TARGET)
    assert torch.equal(acts["encoder.0.role"], output)
    with intervene(attached, {"encoder.0.role": torch.zeros_like}):
        assert not attached(SOURCE, TARGET).any()


class Stepwise(nn.Module):
    """A model of ours whose cell is called once a symbol."""

    def __init__(self):
        super().__init__()
        self.cell, self.state, self.hidden = nn.GRUCell(4, 4), Site("batch seq d_model", 4), None

    def forward(self, source: Tensor) -> Tensor:
        state, states = source.new_zeros(len(source), 4), []
        for symbol in source.unbind(1):
            state = self.state(self.cell(symbol, state))
            states.append(state)
        return torch.stack(states, 1)


class Doubled(PlacedEdit):
    """Twice the state of one position."""

    def __call__(self, tensor: Tensor, axes: tuple[str, ...], start: int = 0) -> Tensor:
        return tensor * 2 if start == 2 else tensor


@pytest.mark.parametrize("call", [None, lambda module, batch: module(*batch)])
def test_sites_inside_a_loop_over_symbols_are_joined(call):
    """Our models and attached ones alike: an edit of a position changes later positions only."""
    model: Any = Stepwise()
    name = "state"
    if call:
        model, name = attach(model, {"encoder.0.hidden": "state"}, forward=call), "encoder.0.hidden"
    source = torch.randn(2, 5, 4)
    for _ in range(2):  # a second call begins anew
        with capture(model, name) as acts:
            plain = model(source)
        assert torch.equal(acts[name], plain)
    with intervene(model, {name: Doubled()}), capture(model, name) as acts:
        edited = model(source)
    assert torch.equal(acts[name], edited)
    assert torch.equal(edited[:, :2], plain[:, :2])
    torch.testing.assert_close(edited[:, 2], plain[:, 2] * 2)
    assert not torch.isclose(edited[:, 3:], plain[:, 3:]).any(-1).all()


def test_tensors_of_two_shapes_in_one_call_are_refused_with_the_way_out():
    def call(module, batch):
        module.table(batch[0])
        module.table(batch[0][:, 0])

    module = nn.ModuleDict({"table": nn.Embedding(5, 4)})
    attached = attach(module, {"encoder.embedding": "table"}, forward=call)
    with (
        capture(attached, "encoder.embedding"),
        pytest.raises(InputError, match=r"encoder.embedding passes .*\(2, 3, 4\) and \(2, 4\)"),
    ):
        attached(torch.ones(2, 3, dtype=torch.long))
