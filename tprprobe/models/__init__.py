"""Models: built from settings, loaded by name; modules with named sites."""

from tprprobe.models.architectures import ARCHITECTURES, build, count_parameters, expand
from tprprobe.models.loading import load_model

__all__ = ["ARCHITECTURES", "build", "count_parameters", "expand", "load_model"]
