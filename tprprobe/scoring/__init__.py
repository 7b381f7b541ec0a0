"""Scores of answers, summaries and captions: with intervals, paired between models, and by people."""

from tprprobe.scoring.baselines import BASELINES, baseline_rows
from tprprobe.scoring.faithfulness import compare_matches, match_unsupported, read_facts
from tprprobe.scoring.sheets import draw_sheet, write_sheet
from tprprobe.scoring.summaries import compare_scores, mean_scores, score_summaries
from tprprobe.scoring.votes import count_votes

__all__ = [
    "BASELINES",
    "baseline_rows",
    "compare_matches",
    "compare_scores",
    "count_votes",
    "draw_sheet",
    "match_unsupported",
    "mean_scores",
    "read_facts",
    "score_summaries",
    "write_sheet",
]
