"""The Hadamard product in place of the tensor product: what it keeps of v ⊗ r, and of fillers."""

from tprprobe.approximation.captured import capture_variance
from tprprobe.approximation.crosstalk import measure_unbinding, unbind_sums

__all__ = ["capture_variance", "measure_unbinding", "unbind_sums"]
