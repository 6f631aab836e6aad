"""Several processes that learn one model together, as `torchrun` starts them: each passes its share of every batch
through the network, and gradients are added up, so that every process takes the step one alone would have taken.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch
import torch.distributed as dist
from torch import Tensor, nn


def rank() -> tuple[int, int]:
    """(number of this process, number of processes)."""
    return (dist.get_rank(), dist.get_world_size()) if dist.is_available() and dist.is_initialized() else (0, 1)


@contextmanager
def process_group() -> Iterator[None]:
    """Joins the processes that torchrun has started."""
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    try:
        yield
    finally:
        dist.destroy_process_group()


def local_slice(rows: Tensor) -> slice:
    """Which of the rows are this process's."""
    number, n = rank()
    sizes = [len(part) for part in torch.tensor_split(torch.arange(len(rows)), n)]
    start = sum(sizes[:number])
    return slice(start, start + sizes[number])


def all_gather(mine: Tensor, place: slice, n_rows: int) -> Tensor:
    """All processes' rows (n_rows, …), of which `mine` stand at `place` and alone carry a gradient."""
    if rank()[1] == 1:
        return mine
    others = mine.new_zeros(n_rows, *mine.shape[1:])
    others[place] = mine.detach()
    dist.all_reduce(others)
    return torch.cat([others[: place.start], mine, others[place.stop :]])


def all_reduce(tensors: Iterable[Tensor]) -> None:
    """Each tensor becomes the sum of all processes' own."""
    if rank()[1] == 1:
        return
    own = list(tensors)
    flat = torch.cat([tensor.flatten() for tensor in own])
    dist.all_reduce(flat)
    for tensor, part in zip(own, torch.split(flat, [tensor.numel() for tensor in own]), strict=True):
        tensor.copy_(part.view_as(tensor))


def all_reduce_gradients(parameters: Iterable[Tensor]) -> None:
    all_reduce(parameter.grad for parameter in parameters if parameter.grad is not None)


def broadcast_module(module: nn.Module) -> None:
    """All processes take the first one's weights and statistics: small differences of rounding do not grow."""
    if rank()[1] > 1:
        for tensor in module.state_dict().values():
            dist.broadcast(tensor, 0)


@contextmanager
def per_rank_rng(number: int) -> Iterator[None]:
    """Dropout inside draws from a stream of this process's own; outside, all draw alike. Alone, nothing changes."""
    if rank()[1] == 1:
        yield
        return
    with torch.random.fork_rng():
        torch.manual_seed(torch.initial_seed() % 2**31 * 1009 + number * rank()[1] + rank()[0])
        yield
