"""Huang et al. 2018, a network that writes captions by unbinding: its unbinding vectors and sentence states."""
