"""Pages of results in ``docs``, generated from shipped checkpoints: never typed.

python -m tprprobe.results --out docs
"""
