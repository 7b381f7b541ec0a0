"""What a run of a model with its sites shows: which of them it reaches, and whether texts of a batch change each other."""

import torch

from tprprobe.models.huggingface.language import Pretrained
from tprprobe.models.huggingface.tokenizer import count_rows
from tprprobe.site.hooks import capture

SHORT, LONG = 4, 9  # symbols of two texts that are read together
LAYER_SITES = ("self.query", "self.key", "self.value", "self.attention", "self.filler", "mlp")
TOLERANCE = 1e-3  # of a state's largest number, how much rounding may change it, or so many steps of its dtype:
STEPS = 10


@torch.no_grad()
def settle(model: Pretrained) -> dict[str, str]:
    """Removes the sites that no run reaches and tests whether padding changes states; notes on both."""
    pad = model.config.pad
    symbols = [i for i in range(1, min(count_rows(model.module), 30)) if i != pad]
    ids = torch.tensor([(symbols * LONG)[:LONG]] * 2, device=model.device).roll(1, 0)
    ids[1, SHORT:] = pad
    target = ids[:, :SHORT].clamp(min=0)
    with capture(model, "*") as padded:
        model.run(ids, target)
    model.taps.drop(model, [name for name in model.taps.sites if name not in padded])
    states = [name for name in padded if name.endswith(".hidden")]
    with capture(model, states) as unpadded:
        model.run(ids[1:, :SHORT], target[1:])
    changed = (_differs(padded[n][1:, : v.shape[1]], v) for n, v in unpadded.items())
    model.needs_equal_lengths = any(changed)
    notes = {}
    if model.needs_equal_lengths:
        notes["batches"] = "of texts of one length, since padding changes the states of this model"
    layers = [name.removesuffix(".hidden") for name in states]
    lacking = {site: sum(f"{at}.{site}" not in padded for at in layers) for site in LAYER_SITES}
    if any(lacking.values()):
        listing = ", ".join(f"{site} in {n}" for site, n in lacking.items() if n)
        notes["no sites"] = f"{listing} of {len(layers)} layers"
    return notes


def _differs(padded: torch.Tensor, unpadded: torch.Tensor) -> bool:
    moved = max(TOLERANCE, STEPS * torch.finfo(unpadded.dtype).eps)
    return bool((padded - unpadded).abs().max() > moved * unpadded.abs().max())
