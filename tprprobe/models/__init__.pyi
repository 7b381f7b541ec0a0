from .architectures import ARCHITECTURES as ARCHITECTURES
from .architectures import build as build
from .architectures import count_parameters as count_parameters
from .architectures import expand as expand
from .loading import find_twins as find_twins
from .loading import load_model as load_model
