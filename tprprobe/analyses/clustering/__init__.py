"""Groups of vectors that lie together: k-means over the sites of a store, head by head."""

from tprprobe.analyses.clustering.clusters import Clusters, load_clusters, save_clusters
from tprprobe.analyses.clustering.kmeans import cluster, cluster_all
from tprprobe.analyses.clustering.matrices import find_heads

__all__ = ["Clusters", "cluster", "cluster_all", "find_heads", "load_clusters", "save_clusters"]
