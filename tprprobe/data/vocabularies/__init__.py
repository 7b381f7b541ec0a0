"""Vocabularies: symbols as ids and back."""
