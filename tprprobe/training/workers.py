"""The processes that train together: a single one, or those that torchrun started."""

import atexit
import os
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor

from tprprobe.models.placement import find_device


@dataclass
class Worker:
    """This process among those that train together (alone: rank 0 of 1)."""

    device: torch.device
    rank: int = 0
    world: int = 1

    @classmethod
    def join(cls, device: str) -> "Worker":
        """This process's place in the group that torchrun set up; later runs join the same group."""
        if "RANK" not in os.environ:
            return cls(find_device(device))
        cuda = device.startswith("cuda")
        place = find_device(f"cuda:{os.environ['LOCAL_RANK']}" if cuda else device)
        if not dist.is_initialized():  # joining again can wait for ever for addresses that are gone
            dist.init_process_group("nccl" if cuda else "gloo")
            atexit.register(dist.destroy_process_group)
        return cls(place, dist.get_rank(), dist.get_world_size())

    def total(self, number: Tensor) -> Tensor:
        if self.world > 1:
            dist.all_reduce(number)
        return number
