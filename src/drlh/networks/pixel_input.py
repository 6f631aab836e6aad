"""Rows of pixels → pictures as a network takes them, augmented by random shifts and mirroring while it learns."""

import math

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from drlh.core.errors import UserError

_SHIFT = 1 / 16  # of the picture's width, to every side


class PixelInput(nn.Module):
    """(n, 3·s²) of `pixelsS`, values 0 to 1 → (n, 3, size, size), standardised by channel."""

    def __init__(self, n_in: int, size: int, mean: tuple[float, ...], deviation: tuple[float, ...]) -> None:
        super().__init__()
        self.raster, self.size = raster_of(n_in), size
        self.mean: Tensor
        self.deviation: Tensor
        self.register_buffer("mean", torch.tensor(mean)[:, None, None])
        self.register_buffer("deviation", torch.tensor(deviation)[:, None, None])

    def forward(self, rows: Tensor) -> Tensor:
        pictures = rows.view(-1, self.raster, self.raster, 3).permute(0, 3, 1, 2)  # channels last in memory
        if self.raster != self.size:
            pictures = nn.functional.interpolate(pictures, (self.size, self.size), mode="bilinear", antialias=True)
        pictures = (pictures - self.mean) / self.deviation
        return augment(pictures, round(_SHIFT * self.size)) if self.training else pictures


def picture_rows(pictures: ArrayLike) -> ArrayLike:
    """(n, s, s, 3) as rows (n, 3·s²), bytes as values from 0 to 1; rows stay as they are."""
    if np.ndim(pictures) != 4:
        return pictures
    stack = np.asarray(pictures)
    if stack.shape[1] != stack.shape[2] or stack.shape[3] != 3:
        raise UserError(f"pictures for a backbone must be square and in colour, (n, s, s, 3): got {stack.shape}")
    rows = stack.reshape(len(stack), -1)
    return rows.astype(np.float32) / np.float32(255) if rows.dtype == np.uint8 else rows


def raster_of(n_in: int) -> int:
    """Width of a square colour picture with `n_in` values."""
    side = math.isqrt(n_in // 3)
    if 3 * side**2 != n_in:
        raise UserError(
            f"a backbone takes square colour pictures as rows of 3·s² pixels (for example pixels32): got {n_in} columns"
        )
    return side


def augment(pictures: Tensor, shift: int) -> Tensor:
    """Half of the pictures mirrored, each moved by up to `shift` pixels; drawn from torch's global generator."""
    n, _, height, width = pictures.shape
    mirrored = torch.rand(n, device=pictures.device) < 0.5
    pictures = torch.where(mirrored[:, None, None, None], pictures.flip(3), pictures)
    if not shift:
        return pictures
    wide = nn.functional.pad(pictures, (shift,) * 4, mode="reflect")
    moves = torch.randint((2 * shift + 1) ** 2, (n,), device=pictures.device)
    moved = torch.empty_like(pictures)
    for move in set(moves.tolist()):
        row, column = divmod(move, 2 * shift + 1)
        chosen = moves == move
        moved[chosen] = wide[chosen, :, row : row + height, column : column + width]
    return moved
