"""Matched studies: several models trained on the same data, order and steps, with several seeds.

``plans`` says what is compared, ``runner`` trains it, ``records`` and ``comparisons`` read the tables
of finished runs and need neither weights nor the trainer.
"""
