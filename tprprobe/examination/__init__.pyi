from .examining import PAIRS as PAIRS
from .examining import TEXTS as TEXTS
from .examining import Examination as Examination
from .examining import choose_data as choose_data
from .examining import examine as examine
