"""A paper's tables and figures, all from one command, with the verdicts on its claims."""
