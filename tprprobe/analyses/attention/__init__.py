"""Attention relations: which heads look from a word at the word that it depends on, from a digit at its operator."""
