"""Images and their captions, from files."""

from tprprobe.data.captions.examples import Captioned
from tprprobe.data.captions.imagesets import is_captions, open_captions

__all__ = [
    "Captioned",
    "is_captions",
    "open_captions",
]
