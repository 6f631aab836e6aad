import numpy as np
import pytest
import torch

from drlh.core.errors import UserError
from drlh.hashers.deep.dqn import DQN, QuantizedCosine, k_means, nearest, number_codewords, part_bits
from drlh.hashers.deep.objective import Batch, Task


def objective(labels: torch.Tensor, quantization: float = 0.5, n_bits: int = 4) -> QuantizedCosine:
    return QuantizedCosine(Task(labels, n_bits, True, np.random.default_rng(0)), 2, quantization)


def test_loss_of_three_images_worked_by_hand() -> None:
    labels = torch.tensor([[1.0, 0], [1, 1], [0, 0]])  # the third shares no label, not even with itself
    batch = Batch(torch.arange(3), labels)
    outputs = torch.tensor([[3.0, 0.0], [3.0, 4.0], [0.0, 2.0]])
    # Cosines 0.6, 0 and 0.8; wanted +1 for the first pair and for the first two with themselves, else -1.
    error = (0 + 0 + 2**2 + 2 * (0.4**2 + 1**2 + 1.8**2)) / 9
    found = objective(labels)
    assert found.loss(outputs, batch).item() == pytest.approx(error, rel=1e-6)
    found.quantized, found.known = torch.tensor([[3.0, 1.0], [1.0, 4.0], [0.0, 2.0]]), torch.tensor(True)
    assert found.loss(outputs, batch).item() == pytest.approx(error + 0.5 * (1 + 4 + 0) / 3, rel=1e-6)


def test_the_loss_has_the_right_gradient() -> None:
    labels = torch.eye(2, dtype=torch.float64)[[0, 1, 0, 1]]
    found = objective(labels).double()
    found.known = torch.tensor(True)
    outputs = torch.randn(4, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).requires_grad_()
    assert torch.autograd.gradcheck(lambda values: found.loss(values, Batch(torch.arange(4), labels)), outputs)


def test_codewords_are_refreshed_every_second_epoch() -> None:
    labels, outputs = torch.eye(2)[torch.arange(40) % 2], torch.randn(40, 2, generator=torch.Generator().manual_seed(0))
    found = objective(labels)
    for epoch, known in ((0, False), (1, False), (2, True)):
        found.start_epoch(epoch, 4, lambda: outputs)
        assert bool(found.known) is known
    after = found.quantized
    found.start_epoch(3, 4, lambda: -outputs)
    assert torch.equal(found.quantized, after)
    assert (outputs - after).square().mean() < 0.2 * outputs.square().mean()  # 16 codewords for 40 points


@pytest.mark.parametrize(("n_bits", "parts"), [(1, [1]), (8, [8]), (12, [6, 6]), (13, [7, 6]), (48, [8] * 6)])
def test_bits_are_shared_out_over_as_few_parts_as_can_hold_them(n_bits: int, parts: list[int]) -> None:
    assert part_bits(n_bits) == parts


def test_k_means_finds_the_middles_of_clumps_and_no_more_codewords_than_points() -> None:
    points = torch.tensor([[0.0, 0], [0, 2], [10, 0], [10, 2]])
    books = [k_means(points, 2, np.random.default_rng(seed)) for seed in range(20)]
    assert any(sorted(book.tolist()) == [[0, 1], [10, 1]] for book in books)
    assert len(k_means(torch.cat([points, points]), 256, np.random.default_rng(0))) == 4
    assert nearest(points, torch.tensor([[9.0, 1], [1, 1]])).tolist() == [1, 1, 0, 0]


def products(bits: np.ndarray, book: np.ndarray) -> float:
    """What handing out numbers maximises, where all codewords are used alike."""
    return float(np.square((2 * bits - 1).T @ (book - book.mean(axis=0))).sum())


def test_near_codewords_get_near_numbers() -> None:
    book = np.array([[0.0, 0], [0, 1], [5, 1], [5, 0]])  # a square: going round, one bit changes at a time
    bits = number_codewords(book, np.ones(4), 2)
    assert len(np.unique(bits, axis=0)) == 4
    assert [int((bits[k] != bits[k - 1]).sum()) for k in range(4)] == [1, 1, 1, 1]


def test_numbers_are_better_than_any_of_many_drawn_at_random() -> None:
    rng = np.random.default_rng(0)
    book = rng.normal(size=(16, 6))
    bits = number_codewords(book, np.ones(16), 4)
    assert len(np.unique(bits, axis=0)) == 16
    assert products(bits, book) > max(products(rng.permutation(bits), book) for _ in range(200))


def test_the_own_ranking_compares_with_the_codewords_of_the_code() -> None:
    rng = np.random.default_rng(0)
    labels = np.arange(90) % 3
    features = 3 * np.eye(3)[labels] + rng.normal(0, 0.3, (90, 3))
    hasher = DQN(6, n_dimensions=10, hidden_size=16, n_epochs=5, random_state=0).fit(features, labels)
    query, database, codes = (
        hasher.query_vectors(features), hasher.database_vectors(features), hasher.transform(features),
    )  # fmt: skip
    assert query.shape == database.shape == (90, 10)
    assert np.abs(query).max() <= 1
    assert len(np.unique(database, axis=0)) == len(np.unique(codes, axis=0))  # a code and its codewords are one
    scores = query @ database.T
    same = labels[:, None] == labels
    assert scores[same].mean() > scores[~same].mean() + 0.3


@pytest.mark.parametrize(
    ("parameters", "wanted"),
    [
        ({"quantization": -1.0}, "quantization of DQN must be at least 0"),
        ({"n_dimensions": 1}, "n_dimensions of DQN must be a whole number of at least 2, one for each part"),
    ],
)
def test_a_wrong_parameter_is_one_clear_sentence(parameters: dict[str, float], wanted: str) -> None:
    with pytest.raises(UserError, match=wanted):
        DQN(16, **parameters).fit(np.eye(4), [0, 1, 0, 1])  # type: ignore[arg-type]
