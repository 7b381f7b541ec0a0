"""The logit lens: its last row is the model's prediction, the others what norm and head make of a layer's state."""

import pytest
import torch
import transformers
from planted.foreign import save_foreign

from tprprobe.errors import InputError
from tprprobe.interventions import direct_logit_attribution, logit_lens
from tprprobe.models import load_model
from tprprobe.site.hooks import capture

TEXT = "The cat saw the dog"


def test_rows_are_what_norm_and_head_make_of_every_layer(folder):
    model = load_model(f"hf:{folder}")
    table = logit_lens(model, TEXT, k=2)
    original = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    with capture(model, "*.hidden") as states, torch.no_grad():
        expected = model.predict(TEXT)[0]
        for site, rows in table.groupby("site", sort=False):
            if site.endswith(".hidden"):
                logits = original.lm_head(original.transformer.ln_f(states[site][0, -1]))
                best = logits.softmax(-1).topk(2)
                assert rows["p"].to_list() == pytest.approx(best.values.tolist(), rel=1e-4)
    assert table["p"].iloc[-2] == pytest.approx(float(expected.max()), rel=1e-5)
    assert table["site"].iloc[0] == "layers.embedding"


def test_a_model_without_a_head_is_refused(tmp_path):
    model = load_model(f"hf:{save_foreign('bert', tmp_path / 'bert')}")
    with pytest.raises(InputError, match="head"):
        logit_lens(model, TEXT)


def test_a_layer_s_attribution_is_what_norm_and_head_lose_without_what_it_adds(folder):
    model = load_model(f"hf:{folder}")
    table = direct_logit_attribution(model, TEXT)
    original = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    with capture(model, ["*.embedding", "*.hidden"]) as states, torch.no_grad():
        best = model.predict(TEXT)[0].topk(2).indices.tolist()
        layers = [states[site][0, -1] for site in table["site"]]

        def margin(state):
            logits = original.lm_head(original.transformer.ln_f(state))
            return float(logits[best[0]] - logits[best[1]])

        below, final = torch.zeros_like(layers[0]), layers[-1]
        for state, attribution in zip(layers, table["attribution"], strict=True):
            expected = margin(final) - margin(final - (state - below))
            assert attribution == pytest.approx(expected, abs=1e-4)
            below = state
    assert (table["random"] != table["attribution"]).all()
    with pytest.raises(InputError, match="give two that begin with different tokens"):
        direct_logit_attribution(model, TEXT, [" cat", " cat"])
