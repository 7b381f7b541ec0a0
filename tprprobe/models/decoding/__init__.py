"""Decoding: greedy and beam search with caches."""
