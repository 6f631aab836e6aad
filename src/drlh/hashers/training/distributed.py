"""Data-parallel learning in the processes that `torchrun` starts: each passes its slice of every batch through the
network, and gradients are summed over the processes, so that each takes the step that one alone would have taken.

`Shard` is what a learner sees of it: its part of one batch. In a single process the part is the whole batch and every
method does what its name says of the plain tensor.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch
import torch.distributed as dist
from torch import Tensor, nn


def rank() -> tuple[int, int]:
    """(rank of this process, number of processes)."""
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


class Shard:
    """This process's rows of a batch of `n_rows`."""

    def __init__(self, n_rows: int) -> None:
        number, n_processes = rank()
        larger, rest = divmod(n_rows, n_processes)
        start = number * larger + min(number, rest)
        self.n_rows, self.place = n_rows, slice(start, start + larger + (number < rest))
        self.fraction = (self.place.stop - start) / n_rows

    def take(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        """Each tensor's rows that are this process's."""
        return tuple(tensor[self.place] for tensor in tensors)

    def gather(self, own: Tensor) -> Tensor:
        """All processes' rows (n_rows, …), of which `own` alone carry a gradient."""
        return all_gather(own, self.place, self.n_rows)

    def backward(self, loss: Tensor, network: nn.Module) -> Tensor:
        """Gradients of the whole batch's mean loss; returns this process's part of that loss."""
        loss = loss * self.fraction if self.fraction < 1 else loss
        loss.backward()  # type: ignore[no-untyped-call]
        all_reduce_gradients(network.parameters())
        return loss.detach()


def local_slice(rows: Tensor) -> slice:
    """Which of the rows are this process's."""
    return Shard(len(rows)).place


def all_gather(mine: Tensor, place: slice, n_rows: int) -> Tensor:
    """All processes' rows (n_rows, …), of which `mine` stand at `place` and alone carry a gradient."""
    if rank()[1] == 1:
        return mine
    others = mine.new_zeros(n_rows, *mine.shape[1:])
    others[place] = mine.detach()
    dist.all_reduce(others)
    return torch.cat([others[: place.start], mine, others[place.stop :]])


def all_reduce_gradients(parameters: Iterable[Tensor]) -> None:
    """Each gradient becomes the sum of all processes' own."""
    if rank()[1] == 1:
        return
    own = [parameter.grad for parameter in parameters if parameter.grad is not None]
    flat = torch.cat([tensor.flatten() for tensor in own])
    dist.all_reduce(flat)
    for tensor, part in zip(own, torch.split(flat, [tensor.numel() for tensor in own]), strict=True):
        tensor.copy_(part.view_as(tensor))


def broadcast_module(*modules: nn.Module) -> None:
    """All processes take the first one's weights and statistics, so that differences of rounding do not grow."""
    if rank()[1] > 1:
        for module in modules:
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
