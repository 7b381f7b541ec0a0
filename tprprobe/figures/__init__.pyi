from . import labels as labels
from . import theme as theme
from .clusters import role_clusters as role_clusters
from .style import save as save
