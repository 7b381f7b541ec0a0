"""The study of letters: recipes of its models, and decoders that see states of all tokens."""

from typing import Any

import pandas as pd
import pytest
import torch

from studies.letters.letter_fits import SCHEMES, SEEDS, TokenDecoder
from studies.letters.letter_models import list_models
from studies.pages.letters_section import summarize_letters
from tprprobe.data.vocabularies.characters import SPECIALS
from tprprobe.models import build
from tprprobe.site.hooks import capture, find_sites, intervene


@pytest.mark.parametrize("of", [*list_models()], ids=lambda each: each.name)
def test_recipes_build_models_that_have_the_site(of):
    recipe = of.recipe
    assert (recipe.name, recipe.stages[0].mix[0].data) == (of.name, of.data)
    assert of.data == recipe.evaluate[0].data == f"sequences:{of.task},symbols=letters"
    with torch.device("meta"):
        model: Any = build(recipe.model)
    assert model.config.vocab_size == len(SPECIALS) + 26
    assert of.site in find_sites(model)


def test_the_fits_are_600():
    assert len(list(list_models())) * len(SCHEMES) * SEEDS == 600


def test_the_section_says_what_the_fits_are():
    rows = [
        {"architecture": "mlp", "task": task, "roles": roles, "seed": seed, "n": 2000}
        | {"substitution": share + 0.01 * seed, "itself": 1.0, "r2": 0.5, "seconds": 0.25}
        for task, bag in (("copy", 0.0), ("sort", 0.9))
        for roles, share in (
            ("left", 0.3),
            ("right", 0.2),
            ("left*right", 0.8),
            ("tree", 0.1),
            ("bag", bag),
        )
        for seed in range(2)
    ]
    told = summarize_letters(pd.DataFrame(rows))
    assert (told["fits"], told["all_fits"], told["models"], told["best"]) == (20, 600, 2, 1)
    assert told["seconds"] == 5
    assert [round(each["most"], 3) for each in told["bags"]] == [0.005, 0.905]
    assert told["spread"] == pytest.approx(0.01)
    assert "| mlp | 1.000 | 0.305 (0.300–0.310) |" in told["tasks"][0]["table"]


def test_states_of_tokens_take_their_places():
    sizes = {"d_model": 16, "n_heads": 2, "n_layers": 2, "d_ff": 16, "vocab_size": 14}
    model: Any = build({"architecture": "transformer", **sizes}, seed=0).eval()
    source = torch.tensor([[4, 5, 6], [10, 11, 1]])
    target, site = torch.tensor([[2, 4, 5], [2, 6, 7]]), "encoder.1.hidden"
    with torch.no_grad():
        with capture(model, site) as seen:
            plain = model(source, target)
        own = seen[site][source != model.config.pad].numpy()
        decoder = TokenDecoder(model, "copy", site)
        found = []
        for states in (own, own[::-1].copy()):
            edit = decoder.place(states, [["0", "1", "2"], ["6", "7"]])
            with intervene(model, {site: edit}):
                found.append(model(source, target))
    assert torch.allclose(found[0], plain, atol=1e-5)
    assert not torch.allclose(found[1], plain, atol=1e-2)
