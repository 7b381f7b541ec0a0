"""Checkpoints as the authors of the papers published them, read without running what they hold."""
