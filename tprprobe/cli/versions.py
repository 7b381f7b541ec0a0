"""What is installed here, in one line, for reports of errors."""

import platform
from importlib.metadata import version


def describe_versions() -> str:
    """The versions of tprprobe, Python and torch, and the devices that torch finds."""
    import torch  # here, as other commands need it later or never

    graphics = [torch.cuda.get_device_name(n) for n in range(torch.cuda.device_count())]
    devices = ", ".join([f"cpu ({torch.get_num_threads()} threads)", *graphics])
    return (
        f"tprprobe {version('tprprobe')}, Python {platform.python_version()}, "
        f"torch {torch.__version__}; devices: {devices}"
    )
