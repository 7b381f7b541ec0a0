"""Decomposition of any vectors into roles and fillers: is a state a sum of bindings, and of which?

The vector of a sequence is e ≈ b + Σ [a_f + c_r + W (f ⊗ r)], summed over its fillers f at their roles r.
Everything is a function of pair counts X and of XᵀE, so a fit is a linear solve.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
