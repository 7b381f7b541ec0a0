"""Affine reconstruction of a state from one head's value vector, with controls."""

from tprprobe.analyses.reconstruction.fits import reconstruct

__all__ = ["reconstruct"]
