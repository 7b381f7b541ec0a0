"""Experiments that exchange vectors: of numbers, of agent and patient, of words of captions."""
