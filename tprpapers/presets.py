"""Configurations of the papers' architectures by name: settings and number of parameters."""

from itertools import product

# schlag2020-final Table 1; 73 symbols. B and C are printed with sizes that fit only without the
# embedding binding. Saxton's Transformer: d_ff 896 is the width whose count fits
# the printed 30M; the published width is not known.
TP = {"architecture": "tp-transformer"}
B = {"d_model": 480, "d_ff": 1920, "embedding_binding": False}
TPT_C = {"architecture": "tpt", "roles": "continuous", "after_residual": False}
ATTENTION = {
    "transformer": ({"architecture": "transformer"}, 44_188_160),
    "tp-transformer": (TP, 49_178_624),
    "tp-transformer-b": (TP | B, 43_001_760),
    "tp-transformer-c": (TP | {"d_ff": 512, "embedding_binding": False}, 30_023_168),
    "transformer-30m": ({"architecture": "transformer", "d_ff": 896}, 30_018_560),
    "tpt-d": ({"architecture": "tpt"}, 64_258_080),
    "tpt-c-t5": (TPT_C, 65_234_688),
    "t5": ({"architecture": "t5"}, 60_506_880),
    "tpgn": ({"architecture": "tpgn"}, 8_715_016),
}
LSTM = {
    "lstm": ({"architecture": "lstm"}, 17_541_193),
    "lstm-thinking": ({"architecture": "lstm", "thinking_steps": 16}, 17_541_193),
}
CNN_LSTM = {"cnn-lstm": ({"architecture": "cnn-lstm"}, 8_655_575)}

# McCoy et al. 2019: every encoder with every decoder, `tpdn-tree-bi`; digits.
ENCODERS = {"uni": 13_100, "bi": 7_700, "tree": 24_080}  # parameters
DECODERS = {"uni": 13_814, "bi": 10_244, "tree": 26_774}
PAIRS = {
    "bottleneck-mlp": ("mlp", "mlp", 64_124),
    "bottleneck-transformer": ("transformer", "transformer", 178_394),
} | {
    f"tpdn-{encoder}-{decoder}": (encoder, decoder, ENCODERS[encoder] + DECODERS[decoder])
    for encoder, decoder in product(ENCODERS, DECODERS)
}
BOTTLENECK = {
    name: ({"architecture": "bottleneck", "encoder": encoder, "decoder": decoder}, parameters)
    for name, (encoder, decoder, parameters) in PAIRS.items()
}
