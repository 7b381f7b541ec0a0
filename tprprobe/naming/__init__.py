"""What clusters stand for: names from gold structure, agreement with it, and controls beside both."""

from tprprobe.naming.roles import name_roles

__all__ = ["name_roles"]
