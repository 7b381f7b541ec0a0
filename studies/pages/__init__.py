"""Pages of results in ``studies/results``, generated from shipped checkpoints: never typed.

python -m studies.pages
"""
