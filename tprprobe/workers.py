"""The processes that train together: one alone, or those that torchrun started."""

import os
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor


@dataclass
class Worker:
    """This process among those that train together (alone: rank 0 of 1)."""

    device: torch.device
    rank: int = 0
    world: int = 1

    @classmethod
    def join(cls, device: str) -> "Worker":
        """Join the group that torchrun set up, if it did."""
        if "RANK" not in os.environ:
            return cls(torch.device(device))
        rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        cuda = device.startswith("cuda")
        dist.init_process_group("nccl" if cuda else "gloo")
        local = f"cuda:{os.environ.get('LOCAL_RANK', 0)}" if cuda else device
        return cls(torch.device(local), rank, world)

    def total(self, number: Tensor) -> Tensor:
        if self.world > 1:
            dist.all_reduce(number)
        return number

    def leave(self) -> None:
        if self.world > 1:
            dist.destroy_process_group()
