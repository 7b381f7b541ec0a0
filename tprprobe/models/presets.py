"""Full-size configurations under the names of their papers, ready to be trained."""

from itertools import product
from typing import Any

# schlag2020-final Table 1; 73 symbols. B and C are printed with sizes that fit only without the
# embedding binding. Saxton's Transformer: d_ff 896 is the width whose count fits
# the printed 30M; the published width is not known.
PRESETS: dict[str, dict[str, Any]] = {
    "transformer": {"architecture": "transformer"},
    "tp-transformer": {"architecture": "tp-transformer"},
    "tp-transformer-b": {
        "architecture": "tp-transformer",
        "d_model": 480,
        "d_ff": 1920,
        "embedding_binding": False,
    },
    "tp-transformer-c": {
        "architecture": "tp-transformer",
        "d_ff": 512,
        "embedding_binding": False,
    },
    "transformer-30m": {"architecture": "transformer", "d_ff": 896},
    "lstm": {"architecture": "lstm"},
    "lstm-thinking": {"architecture": "lstm", "thinking_steps": 16},
    "tpt-d": {"architecture": "tpt"},
    "tpt-c-t5": {"architecture": "tpt", "roles": "continuous", "after_residual": False},
    "t5": {"architecture": "t5"},
    "tpgn": {"architecture": "tpgn"},
    "cnn-lstm": {"architecture": "cnn-lstm"},
    "bottleneck-mlp": {"architecture": "bottleneck", "encoder": "mlp", "decoder": "mlp"},
    "bottleneck-transformer": {
        "architecture": "bottleneck",
        "encoder": "transformer",
        "decoder": "transformer",
    },
}
PARAMETERS = {  # unique tensors; the tests build and count them
    "transformer": 44_188_160,
    "tp-transformer": 49_178_624,
    "tp-transformer-b": 43_001_760,
    "tp-transformer-c": 30_023_168,
    "transformer-30m": 30_018_560,
    "lstm": 17_541_193,
    "lstm-thinking": 17_541_193,
    "tpt-d": 64_258_080,
    "tpt-c-t5": 65_234_688,
    "t5": 60_506_880,
    "tpgn": 8_715_016,
    "cnn-lstm": 8_655_575,
    "bottleneck-mlp": 64_124,
    "bottleneck-transformer": 178_394,
}

# McCoy et al. 2019: every encoder with every decoder, `tpdn-tree-bi`; digits.
ENCODERS = {"uni": 13_100, "bi": 7_700, "tree": 24_080}  # parameters of each
DECODERS = {"uni": 13_814, "bi": 10_244, "tree": 26_774}
for _encoder, _decoder in product(ENCODERS, DECODERS):
    _name, _kinds = f"tpdn-{_encoder}-{_decoder}", {"encoder": _encoder, "decoder": _decoder}
    PRESETS[_name] = {"architecture": "bottleneck", **_kinds}
    PARAMETERS[_name] = ENCODERS[_encoder] + DECODERS[_decoder]
