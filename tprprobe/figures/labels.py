"""Sites, heads and controls as people say them."""

from tprprobe.evaluation.controls import CONTROLS as CONTROLS
from tprprobe.site.labels import LAYER as LAYER
from tprprobe.site.labels import site_label as site_label
