"""Sites, heads and controls as people say them."""

from tprprobe.site.labels import LAYER as LAYER
from tprprobe.site.labels import site_label as site_label

CONTROLS = {  # of probes
    "permuted": "baseline model (permuted weights)",
    "untrained": "baseline model (untrained)",
    "static": "input embeddings",
    "majority": "most frequent label",
    "identity": "most frequent label of the word",
    "control": "control task (random labels)",
}
