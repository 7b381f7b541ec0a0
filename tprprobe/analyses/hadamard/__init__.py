"""The Hadamard product in place of the tensor product: what it keeps of v ⊗ r, and of fillers."""

from tprprobe.analyses.hadamard.crosstalk import measure_unbinding, unbind_sums
from tprprobe.analyses.hadamard.variance import capture_variance

__all__ = ["capture_variance", "measure_unbinding", "unbind_sums"]
