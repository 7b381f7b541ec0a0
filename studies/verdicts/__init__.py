"""Verdicts on the papers' claims: a module a study, whose ``decide(runs)`` judges its claims; one table, one page."""
