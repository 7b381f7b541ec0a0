"""Images and their captions, from files."""

from tprprobe.data.captions.examples import Captioned

__all__ = [
    "Captioned",
]
