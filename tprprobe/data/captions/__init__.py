"""Images and their captions: files, generated scenes, and scores of captions."""

from tprprobe.data.captions.examples import Captioned
from tprprobe.data.captions.files import is_captions, open_captions
from tprprobe.data.captions.scores import CaptionScores, compare_captions, score_captions

__all__ = [
    "CaptionScores",
    "Captioned",
    "compare_captions",
    "is_captions",
    "open_captions",
    "score_captions",
]
