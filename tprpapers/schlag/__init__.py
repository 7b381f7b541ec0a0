"""Schlag et al. 2020, roles for mathematics: reconstruction, the binding problem, Hadamard products."""
