"""Analyses: everything that reads a store and no model."""
