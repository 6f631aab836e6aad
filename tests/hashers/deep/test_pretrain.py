"""A backbone learns to classify."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from drlh.core.errors import UserError
from drlh.hashers.deep.objective import Batch
from drlh.hashers.deep.pretrain import Classification, accuracy, pretrain

QUICK = {"n_epochs": 3, "batch_size": 16, "learning_rate": 0.1}


def colours(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Noise, in which one of three channels is darker."""
    rng = np.random.default_rng(seed)
    pictures, labels = rng.random((n, 32, 32, 3), np.float32), rng.integers(0, 3, n)
    pictures[np.arange(n), :, :, labels] *= 0.5
    return pictures.reshape(n, -1), labels


def test_it_learns_what_can_be_seen() -> None:
    network = pretrain(*colours(60, 0), 3, "cnn-small", **QUICK)
    rows, labels = colours(60, 1)
    assert accuracy(network, rows, labels) > 0.9
    assert accuracy(network, rows, labels, mirrored=True) > 0.9


def test_several_labels_are_learned_each_for_itself() -> None:
    rows, labels = colours(60, 0)
    both = np.eye(4, dtype=np.uint8)[labels]
    both[:, 3] = labels < 2
    network = pretrain(rows, both, 4, "cnn-small", **QUICK)
    assert accuracy(network, rows, both) > 0.9


def test_the_loss_of_two_pictures_is_the_one_worked_by_hand() -> None:
    """Two classes, smoothing 0.2: the right one is asked for with 0.9, the wrong one with 0.1."""
    outputs = torch.tensor([[math.log(3.0), 0.0], [0.0, 0.0]])
    labels = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    wanted = (-(0.9 * math.log(0.75) + 0.1 * math.log(0.25)) + math.log(2)) / 2
    assert float(Classification(False).loss(outputs, Batch(torch.arange(2), labels))) == pytest.approx(wanted)
    several = (math.log(4 / 3) + 3 * math.log(2)) / 4  # sigmoid(log 3) = 3/4, sigmoid(0) = 1/2
    assert float(Classification(True).loss(outputs, Batch(torch.arange(2), labels))) == pytest.approx(several)


def test_a_run_taken_up_again_ends_with_the_same_weights(tmp_path: Path) -> None:
    rows, labels = colours(40, 0)
    unbroken = pretrain(rows, labels, 3, "cnn-small", **QUICK)

    def stop(done: int, total: int, what: str) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pretrain(rows, labels, 3, "cnn-small", resume_from=tmp_path, progress=stop, **QUICK)
    resumed = pretrain(rows, labels, 3, "cnn-small", resume_from=tmp_path, **QUICK)
    for name, value in unbroken.state_dict().items():
        assert torch.equal(value, resumed.state_dict()[name]), name


def test_a_recipe_has_no_other_parts() -> None:
    with pytest.raises(UserError, match="learns by no 'epochs'"):
        pretrain(*colours(4, 0), 3, "cnn-small", epochs=3)
