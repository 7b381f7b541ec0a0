"""Pages of results in ``docs``, generated from shipped checkpoints: never typed.

python -m studies.pages --out docs
"""
