"""Jiang et al. 2021, discrete roles for summaries: their dictionary, and the scores of summaries."""
