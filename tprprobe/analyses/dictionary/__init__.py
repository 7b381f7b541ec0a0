"""Discrete roles: how a dictionary of roles is used, and what its entries stand for."""
