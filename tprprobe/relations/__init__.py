"""What attention relates: heads that look from a digit to the '/' it divides by, with controls."""

from tprprobe.relations.coupling import couple_roles
from tprprobe.relations.examples import pick_examples
from tprprobe.relations.scores import score_relations

__all__ = ["couple_roles", "pick_examples", "score_relations"]
