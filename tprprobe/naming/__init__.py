"""What clusters stand for: names from gold structure, agreement with it, and controls beside both."""

from tprprobe.naming.reports import as_dict, tell
from tprprobe.naming.roles import name_roles
from tprprobe.naming.runs import Naming, load_names, name_all

__all__ = ["Naming", "as_dict", "load_names", "name_all", "name_roles", "tell"]
