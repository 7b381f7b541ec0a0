"""From finished training runs to checkpoints that ship: measured, with cards that say how.

Run as ``python -m tprprobe.cards``; every number of a card is measured then.
"""
