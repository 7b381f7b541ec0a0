"""Scores of answers, summaries and captions: with intervals, paired between models, and by people."""

from tprpapers.scoring.baselines import BASELINES, baseline_rows
from tprpapers.scoring.faithfulness import compare_matches, match_unsupported, read_facts
from tprpapers.scoring.sheets import draw_sheet, write_sheet
from tprpapers.scoring.summaries import compare_scores, mean_scores, score_summaries
from tprpapers.scoring.votes import count_votes

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
