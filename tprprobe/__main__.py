"""``python -m tprprobe``: the command line, for torchrun."""

from tprprobe.cli import main

main()
