"""Rows of pixels as a network takes them."""

import numpy as np
import pytest
import torch

from drlh.core.errors import UserError
from drlh.networks.pixel_input import PixelInput, augment, picture_rows, raster_of

PLAIN = {"mean": (0.0, 0.0, 0.0), "deviation": (1.0, 1.0, 1.0)}


def test_a_row_becomes_its_picture_with_channels_first() -> None:
    pixels = np.random.default_rng(0).random((2, 4, 4, 3)).astype(np.float32)
    seen = PixelInput(48, 4, **PLAIN).eval()(torch.from_numpy(pixels.reshape(2, 48)))
    assert np.array_equal(seen.numpy(), pixels.transpose(0, 3, 1, 2))


def test_channels_are_standardised_each_by_its_own() -> None:
    pictures = PixelInput(12, 2, mean=(0.1, 0.2, 0.3), deviation=(1.0, 2.0, 4.0)).eval()
    seen = pictures(torch.ones(1, 12))
    assert torch.allclose(seen[0, :, 0, 0], torch.tensor([0.9, 0.4, 0.175]))


def test_another_raster_is_brought_to_the_size_of_the_network() -> None:
    seen = PixelInput(3 * 8**2, 4, **PLAIN).eval()(torch.full((2, 3 * 8**2), 0.25))
    assert seen.shape == (2, 3, 4, 4)
    assert torch.allclose(seen, torch.tensor(0.25))


@pytest.mark.parametrize("n_in", [64, 1280, 3 * 15])
def test_columns_that_are_no_square_picture_are_refused(n_in: int) -> None:
    with pytest.raises(UserError, match=f"got {n_in} columns"):
        raster_of(n_in)


def test_bytes_become_rows_from_0_to_1_and_rows_stay() -> None:
    stack = np.full((2, 3, 3, 3), 255, np.uint8)
    assert np.array_equal(picture_rows(stack), np.ones((2, 27), np.float32))
    rows = np.zeros((2, 27))
    assert picture_rows(rows) is rows


def test_pictures_that_are_not_square_are_refused() -> None:
    with pytest.raises(UserError, match=r"\(2, 3, 4, 3\)"):
        picture_rows(np.zeros((2, 3, 4, 3), np.uint8))


def test_augmented_pictures_are_shifts_and_mirrors_of_their_own() -> None:
    torch.manual_seed(0)
    picture = torch.rand(1, 3, 6, 6)
    wide = torch.nn.functional.pad(picture, (1, 1, 1, 1), mode="reflect")
    mirrored = torch.nn.functional.pad(picture.flip(3), (1, 1, 1, 1), mode="reflect")
    allowed = {
        whole[0, :, row : row + 6, column : column + 6].numpy().tobytes()
        for whole in (wide, mirrored)
        for row in range(3)
        for column in range(3)
    }
    seen = {one.numpy().tobytes() for one in augment(picture.repeat(400, 1, 1, 1), 1)}
    assert seen == allowed  # each of the 18 is met, nothing else is


def test_pictures_change_only_while_learning() -> None:
    pictures, rows = PixelInput(3 * 32**2, 32, **PLAIN), torch.rand(8, 3 * 32**2)
    assert torch.equal(pictures.eval()(rows), pictures(rows))
    assert not torch.equal(pictures.train()(rows), pictures(rows))
