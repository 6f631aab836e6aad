import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from drlh.core.errors import UserError
from drlh.hashers.codebook.codebook import Codebook, make_codebook
from drlh.hashers.drlh_paper import reward as rewards
from drlh.hashers.drlh_paper.environment import ActionSet, one_bit_actions, start_state, step, two_bit_actions
from drlh.hashers.drlh_paper.reward import Reward, check_labels, class_likeness, guided_actions
from drlh.hashers.training.agents import random_signs


def hamming(left: np.ndarray, right: np.ndarray) -> int:
    return int((left != right).sum())


def literal_margin(
    code: np.ndarray, codewords: np.ndarray, true: list[int], likeness: np.ndarray | None = None
) -> float:
    """d_pos - d_neg by counting bits."""
    others = [c for c in range(len(codewords)) if c not in true]
    d_pos = min(hamming(code, codewords[c]) for c in true)
    if not others:
        return d_pos
    alike = [0.0 if likeness is None else float(np.mean([likeness[t, c] for t in true])) for c in others]
    weights = [max(1 - each, 1e-6) for each in alike]
    return d_pos - float(np.average([hamming(code, codewords[c]) for c in others], weights=weights))


def random_likeness(n_classes: int, seed: int) -> np.ndarray:
    """Symmetric, of values 0 to 1, some of them 0 and some 1."""
    drawn = np.random.default_rng(seed).uniform(-0.5, 1.5, (n_classes, n_classes)).clip(0, 1)
    return (np.triu(drawn) + np.triu(drawn, 1).T).astype(np.float32)


@st.composite
def situations(draw: st.DrawFn) -> tuple[Codebook, ActionSet, torch.Tensor, torch.Tensor, list[list[int]]]:
    """A codebook, an action set, six codes, and labels as ids or multi-hot with their lists."""
    n_bits, n_classes = draw(st.integers(3, 9)), draw(st.integers(2, 6))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    codebook = make_codebook(n_classes, n_bits, kind="random", random_state=rng)
    actions = draw(st.sampled_from([one_bit_actions, two_bit_actions]))(n_bits)
    signs = torch.from_numpy(2 * rng.integers(0, 2, (6, n_bits), np.int8) - 1)
    if draw(st.booleans()):
        ids = rng.integers(0, n_classes, 6)
        return codebook, actions, signs, torch.from_numpy(ids), [[int(c)] for c in ids]
    hot = rng.random((6, n_classes)) < 0.5
    hot[np.arange(6), rng.integers(0, n_classes, 6)] = True
    return codebook, actions, signs, torch.from_numpy(hot), [list(np.flatnonzero(row)) for row in hot]


Situation = tuple[Codebook, ActionSet, torch.Tensor, torch.Tensor, list[list[int]]]


@given(situations(), st.sampled_from([0, 0.5, 1, 1.75, 2, 3]))
@settings(deadline=None, max_examples=60)
def test_the_paper_reward_equals_its_literal_definition(situation: Situation, eta: float) -> None:
    codebook, actions, signs, labels, true = situation
    table = Reward(codebook, actions, sigma=3.0, eta=eta).table(signs, labels)
    codes = (signs > 0).numpy().astype(np.uint8)
    for row in range(len(codes)):
        before = literal_margin(codes[row], codebook.codewords, true[row])
        for action in range(actions.stop):
            flipped = codes[row] ^ (actions.factors[action] < 0).numpy()
            expected = before - literal_margin(flipped, codebook.codewords, true[row])
            assert table[row, action].item() == pytest.approx(expected, abs=1e-4)
        d_pos = min(hamming(codes[row], codebook.codewords[c]) for c in true[row])
        assert table[row, actions.stop].item() == (3.0 if d_pos <= eta else -3.0)


@given(situations(), st.integers(0, 10**6))
@settings(deadline=None, max_examples=60)
def test_with_label_correlations_it_equals_its_literal_definition_too(situation: Situation, seed: int) -> None:
    codebook, actions, signs, labels, true = situation
    likeness = random_likeness(codebook.n_classes, seed)
    reward = Reward(codebook, actions, likeness=torch.from_numpy(likeness))
    table, potential = reward.table(signs, labels), reward.potential(signs, labels)
    codes = (signs > 0).numpy().astype(np.uint8)
    for row in range(len(codes)):
        before = literal_margin(codes[row], codebook.codewords, true[row], likeness)
        assert potential[row].item() == pytest.approx(-before, abs=1e-4)
        for action in range(actions.stop):
            flipped = codes[row] ^ (actions.factors[action] < 0).numpy()
            expected = before - literal_margin(flipped, codebook.codewords, true[row], likeness)
            assert table[row, action].item() == pytest.approx(expected, abs=1e-4)


@given(situations(), st.booleans())
@settings(deadline=None, max_examples=60)
def test_a_flip_earns_the_change_of_the_potential(situation: Situation, correlated: bool) -> None:
    codebook, actions, signs, labels, _ = situation
    likeness = torch.from_numpy(random_likeness(codebook.n_classes, 0)) if correlated else None
    reward = Reward(codebook, actions, likeness=likeness)
    table, before = reward.table(signs, labels), reward.potential(signs, labels)
    for action in range(actions.stop):
        following, _, _ = step(start_state(signs), torch.full((6,), action), actions, max_steps=9)
        earned = reward.potential(following.signs, labels) - before
        torch.testing.assert_close(table[:, action], earned, atol=1e-4, rtol=1e-4)


def test_the_single_label_identity_holds_in_hamming_units() -> None:
    codebook = make_codebook(10, 32)
    signs = random_signs(50, 32, torch.Generator().manual_seed(0))
    labels = torch.arange(50) % 10
    others = (codebook.signs.sum(axis=0) - codebook.signs) / 9
    expected = -signs.numpy() * (codebook.signs - others)[labels]
    table = Reward(codebook, one_bit_actions(32)).table(signs, labels)
    np.testing.assert_allclose(table[:, :-1].numpy(), expected, atol=1e-5)
    one_hot = torch.nn.functional.one_hot(labels, 10)
    torch.testing.assert_close(Reward(codebook, one_bit_actions(32)).table(signs, one_hot), table)


def test_with_several_labels_the_nearest_class_may_change_with_the_flip() -> None:
    codebook = make_codebook(3, 6, kind=[[0] * 6, [1] * 6, [0, 1, 0, 1, 0, 1]])
    reward = Reward(codebook, one_bit_actions(6))
    signs = torch.tensor([[1, 1, 1, -1, -1, -1]])  # 3 bits from class 0 and 3 from class 1
    table = reward.table(signs, torch.tensor([[1, 1, 0]]))
    d_neg_change = torch.tensor([-1, 1, -1, -1, 1, -1])  # how d_neg grows with each flip
    np.testing.assert_allclose(table[0, :-1], 1 + d_neg_change)  # every flip brings d_pos from 3 to 2


def test_an_image_of_all_classes_has_no_distance_to_others() -> None:
    codebook = make_codebook(2, 4, kind=[[0] * 4, [1] * 4])
    table = Reward(codebook, one_bit_actions(4)).table(torch.tensor([[-1, -1, -1, 1]]), torch.tensor([[1, 1]]))
    assert table[0, :-1].tolist() == [-1, -1, -1, 1]


@given(situations())
@settings(deadline=None, max_examples=30)
def test_classes_that_are_all_equally_alike_leave_the_plain_mean(situation: Situation) -> None:
    codebook, actions, signs, labels, _ = situation
    plain = Reward(codebook, actions).table(signs, labels)
    for share in (0.0, 0.5, 1.0):
        likeness = torch.full((codebook.n_classes, codebook.n_classes), share)
        found = Reward(codebook, actions, likeness=likeness).table(signs, labels)
        torch.testing.assert_close(found, plain, atol=1e-5, rtol=1e-5)


def test_a_class_like_the_images_own_no_longer_pushes_the_code_away() -> None:
    codebook = make_codebook(3, 4, kind=[[0, 0, 0, 0], [0, 0, 1, 1], [1, 1, 0, 0]])
    likeness = torch.tensor([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    signs, labels = torch.ones(1, 4), torch.tensor([0])
    found = Reward(codebook, one_bit_actions(4), likeness=likeness).table(signs, labels)
    np.testing.assert_allclose(found[0, :4], [2, 2, 0, 0], atol=1e-5)  # class 2 alone counts
    np.testing.assert_allclose(Reward(codebook, one_bit_actions(4)).table(signs, labels)[0, :4], [1, 1, 1, 1])


def test_a_bit_that_all_classes_share_earns_exactly_nothing_whatever_the_weights() -> None:
    words = np.random.default_rng(0).integers(0, 2, (7, 16), np.uint8)
    words[:, 3], words[:, 8] = 1, 0
    likeness = torch.from_numpy(random_likeness(7, 1))
    reward = Reward(make_codebook(7, 16, kind=words), one_bit_actions(16), likeness=likeness)
    table = reward.table(random_signs(70, 16, torch.Generator().manual_seed(0)), torch.arange(70) % 7)
    assert not table[:, [3, 8]].any()


def test_likeness_of_single_labels_is_the_cosine_of_centred_class_means() -> None:
    rng = np.random.default_rng(0)
    labels = np.concatenate([np.repeat(np.arange(5), [4, 9, 1, 6, 30]), [0]])  # class 5 has no image
    features = rng.normal(size=(51, 8)).astype(np.float32) + rng.normal(size=(6, 8)).astype(np.float32)[labels]
    means = np.stack([features[labels == c].mean(axis=0) for c in range(5)])
    means -= means.mean(axis=0)
    wanted = np.zeros((6, 6))
    for i in range(5):
        for j in range(5):
            cosine = means[i] @ means[j] / (np.linalg.norm(means[i]) * np.linalg.norm(means[j]))
            wanted[i, j] = max(0, cosine)
    found = class_likeness(torch.from_numpy(features), torch.from_numpy(labels), 6)
    np.testing.assert_allclose(found, wanted, atol=1e-5)


def test_likeness_of_several_labels_is_how_often_they_come_together() -> None:
    hot = np.random.default_rng(0).random((40, 4)) < 0.4
    hot[:, 3] = False  # a class without images
    found = class_likeness(torch.zeros(40, 2), torch.from_numpy(hot), 4)
    for i in range(4):
        for j in range(4):
            both, either = (hot[:, i] & hot[:, j]).sum(), (hot[:, i] | hot[:, j]).sum()
            assert found[i, j].item() == pytest.approx(both / max(either, 1))


def test_eta_is_half_the_radius_unless_given() -> None:
    codebook = make_codebook(10, 16)  # D = 8, so R = 3.5 in the paper's terms
    assert Reward(codebook, one_bit_actions(16)).eta == 1.75
    assert Reward(codebook, one_bit_actions(16), eta=3).eta == 3


def test_small_blocks_give_what_one_block_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    codebook, actions = make_codebook(4, 8), two_bit_actions(8)
    signs = random_signs(33, 8, torch.Generator().manual_seed(0))
    labels = torch.from_numpy(np.random.default_rng(0).random((33, 4)) < 0.5)
    labels[:, 0] = True
    reward = Reward(codebook, actions)
    whole = reward.table(signs, labels)
    monkeypatch.setattr(rewards, "_MOST_ELEMENTS", 1000)
    torch.testing.assert_close(reward.table(signs, labels), whole)


@given(st.integers(0, 10**6), st.integers(2, 12), st.integers(8, 24))
@settings(deadline=None, max_examples=30)
def test_the_guided_expert_takes_exactly_the_hamming_distance_to_its_codeword(
    seed: int, n_classes: int, n_bits: int
) -> None:
    codebook, actions = make_codebook(n_classes, n_bits, kind="random", random_state=seed), one_bit_actions(n_bits)
    constant = (codebook.codewords == codebook.codewords[0]).all(axis=0)  # bits all classes share pay nothing
    reward = Reward(codebook, actions, eta=0)
    generator = torch.Generator().manual_seed(seed)
    labels = torch.arange(20) % n_classes
    goal = torch.from_numpy(codebook.signs)[labels]
    signs = torch.where(torch.from_numpy(constant), goal, random_signs(20, n_bits, generator))
    distances, state = (signs != goal).sum(dim=1), start_state(signs)
    for _ in range(n_bits + 1):
        chosen = guided_actions(reward.table(state.signs, labels), generator)
        assert torch.equal(chosen == actions.stop, (state.signs == goal).all(dim=1))
        state, _, _ = step(state, chosen, actions, max_steps=99)
    assert torch.equal(state.signs, goal)
    assert torch.equal(state.steps, distances.int())


@given(st.integers(0, 10**6))
@settings(deadline=None, max_examples=30)
def test_with_several_labels_flips_that_near_a_true_class_never_lose_and_reach_it(seed: int) -> None:
    rng = np.random.default_rng(seed)
    codebook, actions = make_codebook(6, 12, random_state=0), one_bit_actions(12)
    reward = Reward(codebook, actions, eta=0)
    hot = torch.from_numpy(rng.random((10, 6)) < 0.4)
    hot[:, int(rng.integers(6))] = True
    table_of_signs = torch.from_numpy(codebook.signs).float()

    def d_pos(signs: torch.Tensor) -> torch.Tensor:
        return ((12 - signs.float() @ table_of_signs.T) / 2).masked_fill(~hot, 99).amin(dim=1)

    state = start_state(random_signs(10, 12, torch.Generator().manual_seed(seed)))
    first = d_pos(state.signs)
    for _ in range(12):
        table = reward.table(state.signs, hot)
        nearer = [
            d_pos(step(state, torch.full((10,), k), actions, 99)[0].signs) < d_pos(state.signs) for k in range(12)
        ]
        useful, arrived = torch.stack(nearer, dim=1), d_pos(state.signs) == 0
        assert (table[:, :-1][useful] > -1e-5).all()  # 0 where all the other classes have the same bit
        assert torch.equal(useful.any(dim=1), ~arrived)
        chosen = torch.where(arrived, actions.stop, useful.float().argmax(dim=1))
        state, _, _ = step(state, chosen, actions, max_steps=99)
    assert torch.equal(state.steps.float(), first)


def test_the_guided_expert_picks_evenly_among_positive_actions_and_else_stops() -> None:
    table = torch.tensor([[1.0, -1.0, 0.5, -5.0], [-1.0, 0.0, -2.0, -5.0]]).repeat(2000, 1)
    chosen = guided_actions(table, torch.Generator().manual_seed(0)).reshape(-1, 2)
    counts = torch.bincount(chosen[:, 0], minlength=4)
    assert counts[[1, 3]].tolist() == [0, 0]
    assert 900 < counts[0] < 1100
    assert set(chosen[:, 1].tolist()) == {3}


def test_mistakes_are_told_in_one_sentence() -> None:
    with pytest.raises(UserError, match=r"8 bits of the actions: got 9 bits"):
        Reward(make_codebook(3, 9), one_bit_actions(8))
    with pytest.raises(UserError, match="row 1 has none"):
        check_labels(torch.tensor([[1, 0, 0], [0, 0, 0]]), 3)
    with pytest.raises(UserError, match=r"ids 0\.\.2 .* values up to 3"):
        check_labels(torch.tensor([0, 3]), 3)
    with pytest.raises(UserError, match=r"multi-hot \(n, 3\): got shape \(1, 2\)"):
        check_labels(torch.tensor([[1, 0]]), 3)
    check_labels(torch.tensor([0, 2]), 3)
