from .clusters import Clusters as Clusters
from .clusters import load_clusters as load_clusters
from .clusters import save_clusters as save_clusters
from .kmeans import cluster as cluster
from .kmeans import find_heads as find_heads
