"""Full-size configurations under the names of their papers, ready to be trained."""

from typing import Any, NamedTuple

from tprprobe import plugins


class Preset(NamedTuple):
    """The settings of a model, and its number of parameters (unique tensors; the tests build and count them)."""

    settings: dict[str, Any]
    parameters: int


def _of(architecture: str, parameters: int, **settings: Any) -> Preset:
    return Preset({"architecture": architecture, **settings}, parameters)


# schlag2020-final Table 1; 73 symbols. B and C are printed with sizes that fit only without the
# embedding binding. Saxton's Transformer: d_ff 896 is the width whose count fits
# the printed 30M; the published width is not known.
B = {"d_model": 480, "d_ff": 1920, "embedding_binding": False}
PRESETS = {
    "transformer": _of("transformer", 44_188_160),
    "tp-transformer": _of("tp-transformer", 49_178_624),
    "tp-transformer-b": _of("tp-transformer", 43_001_760, **B),
    "tp-transformer-c": _of("tp-transformer", 30_023_168, d_ff=512, embedding_binding=False),
    "transformer-30m": _of("transformer", 30_018_560, d_ff=896),
    "tpt-d": _of("tpt", 64_258_080),
    "tpt-c-t5": _of("tpt", 65_234_688, roles="continuous", after_residual=False),
    "t5": _of("t5", 60_506_880),
    "tpgn": _of("tpgn", 8_715_016),
}


def list_presets() -> dict[str, Preset]:
    """Every preset by name, those that plug-ins register for their architectures last."""
    plugged = plugins.load_all("presets").values()
    return PRESETS | {name: Preset(*each) for presets in plugged for name, each in presets.items()}
