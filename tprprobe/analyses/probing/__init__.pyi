from .rows import load_rows as load_rows
from .rows import screen as screen
from .run import Schedule as Schedule
from .run import probe as probe
from .saved_probe import load_probe as load_probe
from .settings import ProbeSettings as ProbeSettings
from .task import read_task as read_task
