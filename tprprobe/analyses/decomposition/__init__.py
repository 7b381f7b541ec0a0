"""Decomposition of any vectors into roles and fillers: is a state a sum of bindings, and of which?

The vector of a sequence is e ≈ b + Σ [a_f + c_r + W (f ⊗ r)], summed over its fillers f at their roles r.
Everything is a function of pair counts X and of XᵀE, so a fit is a linear solve.
"""

from tprprobe.analyses.decomposition.decomposition_run import decompose_all, load_scores
from tprprobe.analyses.decomposition.decompositions import Decomposition, decompose, fit_scheme
from tprprobe.analyses.decomposition.estimator import TPDecomposition
from tprprobe.analyses.decomposition.gains import summarize
from tprprobe.analyses.decomposition.role_findings import (
    RoleSearch,
    load_roles,
    search_all,
    search_roles,
)

__all__ = [
    "Decomposition",
    "RoleSearch",
    "TPDecomposition",
    "decompose",
    "decompose_all",
    "fit_scheme",
    "load_roles",
    "load_scores",
    "search_all",
    "search_roles",
    "summarize",
]
