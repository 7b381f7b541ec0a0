"""Affine reconstruction of a state from one head's value vector, with controls."""

from tprprobe.analyses.reconstruction.fits import load_reconstruction, reconstruct

__all__ = ["load_reconstruction", "reconstruct"]
