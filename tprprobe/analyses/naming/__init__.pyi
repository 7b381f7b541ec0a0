from .arithmetic import load_names as load_names
from .arithmetic import name_all as name_all
from .names import name_roles as name_roles
from .word_names import load_named as load_named
from .word_names import load_word_names as load_word_names
from .word_names import name_words as name_words
