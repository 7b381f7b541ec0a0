"""How much of a state one head's value vector keeps: its affine reconstruction, with controls."""

from tprprobe.reconstruction.tables import reconstruct

__all__ = ["reconstruct"]
