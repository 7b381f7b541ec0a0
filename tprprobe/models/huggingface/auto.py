"""The old place of ``tprpapers.architectures.auto_classes``, which it imports."""

from tprprobe import plugins
from tprprobe.console import note

note("warning: import tprpapers.architectures.auto_classes, its old name goes in the next version")
plugins.load_all("auto-classes")
