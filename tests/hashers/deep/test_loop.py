import numpy as np
import torch
from torch import Tensor

from drlh.hashers.deep.loop import Training, TrainingConfig, _batches
from drlh.hashers.deep.networks import Head
from drlh.hashers.deep.objective import Batch, Objective, distinct_pairs, share_label
from drlh.hashers.training.epochs import one_cycle


class SquaredError(Objective):
    """Outputs should be the labels."""

    def __init__(self) -> None:
        super().__init__()
        self.epochs: list[tuple[int, int]] = []

    def start_epoch(self, epoch: int, n_epochs: int, outputs: object) -> None:
        self.epochs.append((epoch, n_epochs))

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        return (outputs - batch.labels).square().mean()


def training(n_epochs: int = 30, seed: int = 0) -> Training:
    torch.manual_seed(0)
    inputs = torch.randn(70, 5)
    labels = (inputs[:, :3] > 0).float()
    config = TrainingConfig(n_epochs, batch_size=16, learning_rate=0.02, weight_decay=0.0)
    return Training(Head(5, 3, hidden_size=16), SquaredError(), inputs, labels, config, seed)


def test_the_loss_falls_and_the_objective_hears_of_every_epoch() -> None:
    run = training()
    losses = [run.run_epoch(epoch) for epoch in range(30)]
    assert losses[-1] < 0.3 * losses[0]
    assert isinstance(run.objective, SquaredError)
    assert run.objective.epochs == [(epoch, 30) for epoch in range(30)]


def test_every_image_is_learned_from_once_in_an_epoch() -> None:
    parts = _batches(torch.arange(70), 16)
    assert [len(part) for part in parts] == [16, 16, 16, 22]
    assert torch.equal(torch.cat(parts), torch.arange(70))
    assert [len(part) for part in _batches(torch.arange(3), 16)] == [3]


def test_the_network_that_was_judged_best_comes_back() -> None:
    run = training()
    scores = [0.2, 0.5, 0.4, 0.1]
    kept = []
    for epoch, score in enumerate(scores):
        run.run_epoch(epoch)
        kept.append(run.outputs())
        run.record_validation(score)
    assert run.epochs_since_best == 2
    assert not torch.equal(run.outputs(), kept[1])
    run.restore_best()
    assert torch.equal(run.outputs(), kept[1])


def test_a_run_goes_on_from_its_arrays() -> None:
    whole, first = training(), training()
    for epoch in range(4):
        whole.run_epoch(epoch)
    for epoch in range(2):
        first.run_epoch(epoch)
        first.record_validation(1.0 - epoch)
    second = training(seed=0)
    second.load_arrays({name: np.array(array) for name, array in first.arrays().items()})
    assert (second.best_score, second.epochs_since_best) == (1.0, 1)
    assert second.best_state.keys() == first.best_state.keys()
    for epoch in (2, 3):
        second.run_epoch(epoch)
    assert torch.equal(whole.outputs(), second.outputs())


def test_the_learning_rate_rises_for_a_tenth_and_falls_to_nothing() -> None:
    rates = [one_cycle(done) for done in (0, 0.05, 0.1, 0.55, 1)]
    np.testing.assert_allclose(rates, [0.04, 0.52, 1, 0.5, 0], atol=1e-12)


def test_similar_images_share_a_label() -> None:
    left = torch.tensor([[1.0, 0, 1], [0, 0, 0]])
    right = torch.tensor([[1.0, 0, 0], [0, 1, 0], [1, 1, 1]])
    assert share_label(left, right).tolist() == [[1, 0, 1], [0, 0, 0]]
    assert distinct_pairs(torch.tensor([3, 1]), torch.tensor([1, 2, 3])).tolist() == [[1, 1, 0], [0, 1, 1]]
