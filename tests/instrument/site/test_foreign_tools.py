"""Other libraries' hooks and traces on our models: they read and replace as ours do, and leave nothing."""

import pytest
import torch

import tprprobe as tp
from tprprobe.site.hooks import find_sites, hold

SOURCE = torch.tensor([[2, 9, 8, 7, 3], [2, 6, 5, 4, 3]])
TARGET = torch.tensor([[2, 9], [2, 8]])
ROLE, MAP = "encoder.0.self.role", "encoder.1.self.attention"


def test_hold_gives_a_forward_of_an_instance_back(make_model):
    model = make_model()
    layer = model.encoder[0]
    forward = layer.forward
    calls = []
    layer.forward = lambda *args, **options: calls.append(1) or forward(*args, **options)
    replaced = layer.forward
    with hold(model, {"encoder.0": torch.zeros(2, 5, 16)}):
        model(SOURCE, TARGET)
        assert not calls
    assert layer.forward is replaced
    model(SOURCE, TARGET)
    assert calls == [1]
    del layer.forward
    with hold(model, {"encoder.0": torch.zeros(2, 5, 16)}):
        pass
    assert "forward" not in layer.__dict__


def interchanged(model, site):
    """Our interchange of position 1 of a site between the samples, whose logits others must have."""
    with tp.capture(model, site) as acts:
        model(SOURCE.flip(0), TARGET.flip(0))

    def swap(tensor):
        return torch.cat([tensor[:, :1], acts[site][:, 1:2], tensor[:, 2:]], 1)

    with tp.intervene(model, {site: swap}):
        return model(SOURCE, TARGET)


@pytest.mark.filterwarnings("ignore")
def test_nnsights_interchange_is_ours_to_the_last_bit(make_model):
    nnsight = pytest.importorskip("nnsight", reason="nnsight is a development extra")
    model = make_model()
    with torch.no_grad():
        plain, expected = model(SOURCE, TARGET), interchanged(model, ROLE)
        with tp.capture(model, MAP) as acts:
            model(SOURCE, TARGET)
        traced = nnsight.NNsight(model)
        assert not any(site.is_read for site in find_sites(model).values())
        with traced.trace(SOURCE.flip(0), TARGET.flip(0)):
            donor = traced.encoder[0].self.role.output.save()
        with traced.trace(SOURCE, TARGET):
            traced.encoder[0].self.role.output[:, 1] = donor[:, 1]
            logits = traced.output.save()
        assert torch.equal(logits, expected)
        assert not torch.equal(logits, plain)
        with traced.trace(SOURCE, TARGET):  # a map is computed where a trace asks for it
            weights = traced.encoder[1].self.attention.output.save()
        assert torch.equal(weights, acts[MAP])
        assert not any(site.is_read for site in find_sites(model).values())
        assert torch.equal(model(SOURCE, TARGET), plain)
        assert torch.equal(interchanged(model, ROLE), expected)


@pytest.mark.filterwarnings("ignore")
def test_pyvenes_interchange_is_ours_to_the_last_bit(make_model):
    pyvene = pytest.importorskip("pyvene", reason="pyvene is an extra (interchange)")
    model = make_model()
    with torch.no_grad():
        plain = model(SOURCE, TARGET)
        assert ROLE in tp.register_pyvene(model)
        for site in (ROLE, "encoder.0.self.filler", "encoder.1.hidden", "decoder.0.cross.role"):
            config = {"component": site, "unit": "pos"}
            intervenable = pyvene.IntervenableModel(
                [config | {"intervention_type": pyvene.VanillaIntervention}], model
            )
            _, logits = intervenable(
                {"source": SOURCE, "target": TARGET},
                [{"source": SOURCE.flip(0), "target": TARGET.flip(0)}],
                {"sources->base": ([[[1], [1]]], [[[1], [1]]])},
            )
            assert torch.equal(logits, interchanged(model, site)), site
            assert not torch.equal(logits, plain)
        assert not any(site.is_read for site in find_sites(model).values())
