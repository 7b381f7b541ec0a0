from .accuracy import module_bars as module_bars
from .attention import attention_grid as attention_grid
from .attention import attention_matrix as attention_matrix
from .attention import attention_rows as attention_rows
from .clusters import role_clusters as role_clusters
from .curves import learning_curve as learning_curve
from .maps import map_points as map_points
from .style import save as save
