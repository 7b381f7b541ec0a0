"""From finished training runs to checkpoints that ship: measured, with cards that say how.

Run as ``python -m studies.checkpoints``; every number of a card is measured then.
"""
