"""Matched studies: several models trained on the same data, order and steps, with several seeds.

``plans`` says what is compared, ``running`` trains it, ``tables`` and ``comparisons`` read what came
of it and need neither weights nor the trainer.
"""
