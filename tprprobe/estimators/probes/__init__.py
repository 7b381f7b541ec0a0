"""Probes: what predicts the labels of words from vectors."""
