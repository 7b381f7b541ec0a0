from .probe_folder import load_probe as load_probe
from .result_table import screen as screen
from .run import probe as probe
from .settings import ProbeSettings as ProbeSettings
from .settings import Schedule as Schedule
from .task import read_task as read_task
