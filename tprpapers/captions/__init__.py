"""Captions: images with their features, and the vocabulary of the words that are written about them."""
