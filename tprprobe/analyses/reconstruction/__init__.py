"""How much of a state one head's value vector keeps: its affine reconstruction, with controls."""

from tprprobe.analyses.reconstruction.fits import reconstruct

__all__ = ["reconstruct"]
