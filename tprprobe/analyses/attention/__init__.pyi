from .illustrations import pick_examples as pick_examples
from .mass import most_relating_head as most_relating_head
from .mass import score_heads as score_heads
from .mass import score_relations as score_relations
