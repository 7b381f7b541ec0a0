"""Configurations of the papers' architectures by name: settings and number of parameters."""

from itertools import product

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
