"""SH: the cosines of a box, worked by hand, and the codes they give."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drlh.hashers.classic.sh import SH, slowest_cosines


def box(n_x: int = 41, n_y: int = 21) -> np.ndarray:
    """A grid that fills a box of 4 by 2 evenly; its principal directions are its sides."""
    x, y = np.meshgrid(np.linspace(0, 4, n_x), np.linspace(0, 2, n_y))
    return np.column_stack([x.ravel(), y.ravel()])


def test_the_slowest_cosines_of_a_box_of_4_by_2() -> None:
    # In units of pi the long side has 1/4, 1/2, 3/4, 1, ... and the short one 1/2, 1, ...; ties go to the long side.
    sides, frequencies = slowest_cosines(np.array([4.0, 2.0]), 6)
    assert sides.tolist() == [0, 0, 1, 0, 0, 1]
    np.testing.assert_allclose(frequencies / np.pi, [0.25, 0.5, 0.5, 0.75, 1, 1])


def test_a_long_side_has_many_bits_before_a_short_one_has_any() -> None:
    sides, _ = slowest_cosines(np.array([10.0, 1.5]), 8)
    assert sides.tolist() == [0, 0, 0, 0, 0, 0, 1, 0]  # 6/10 < 1/1.5 < 7/10


@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=8), st.integers(1, 40))
def test_no_cosine_beyond_the_published_bound_is_among_the_slowest(lengths: list[float], n_bits: int) -> None:
    longest = max(lengths)
    listed = [
        np.pi * mode / length for length in lengths for mode in range(1, math.ceil((n_bits + 1) * length / longest))
    ]
    _, frequencies = slowest_cosines(np.array(lengths), n_bits)
    np.testing.assert_allclose(frequencies, sorted(listed)[:n_bits], rtol=1e-9)


@pytest.mark.parametrize(
    ("point", "code"),
    [
        ((0.5, 1.5), [1, 1, 0, 1]),  # cosines of pi/8, pi/4, 3pi/4, 3pi/8
        ((3.5, 0.5), [0, 1, 1, 0]),  # 7pi/8, 7pi/4, pi/4, 21pi/8
        ((1.5, 0.5), [1, 0, 1, 0]),  # 3pi/8, 3pi/4, pi/4, 9pi/8
        ((4.5, 2.5), [0, 1, 0, 0]),  # outside the box they run on: 9pi/8, 9pi/4, 5pi/4, 27pi/8
    ],
)
@pytest.mark.parametrize("offset", [0.0, 1000.7])
def test_codes_of_points_in_a_box_worked_by_hand(point: tuple[float, float], code: list[int], offset: float) -> None:
    hasher = SH(4).fit(box() + offset)
    assert hasher.transform([np.array(point) + offset])[0].tolist() == code


def test_turning_the_box_changes_codes_by_whole_bits_at_most() -> None:
    angle = 0.7
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    inside = np.random.default_rng(0).uniform([0, 0], [4, 2], (200, 2))
    straight, turned = SH(7).fit(box()), SH(7).fit(box() @ turn)
    differ = straight.transform(inside) != turned.transform(inside @ turn)
    # A direction may point the other way: then odd cosines along it change sign for every point, even ones for none.
    assert set(differ.mean(axis=0)) <= {0.0, 1.0}


def test_bits_of_an_evenly_filled_box_are_balanced_and_all_different() -> None:
    points = np.random.default_rng(0).uniform(0, [5, 3, 2], (20000, 3))
    codes = SH(12).fit_transform(points)
    assert (abs(codes.mean(axis=0) - 0.5) < 0.03).all()
    assert len(np.unique(codes, axis=1).T) == 12


def test_near_points_of_a_box_differ_in_fewer_bits() -> None:
    rng = np.random.default_rng(0)
    points = rng.uniform(0, [4, 3], (500, 2))
    codes = SH(6).fit(points).transform(points).astype(int)
    distances = np.linalg.norm(points[:, None] - points[None], axis=2)
    bits = (codes[:, None] != codes[None]).sum(axis=2)
    near, middling, far = (
        bits[(low <= distances) & (distances < high)].mean() for low, high in ((0, 0.3), (0.6, 1), (1.3, 2))
    )
    assert near < 0.5 * middling
    assert middling < far


def test_constant_columns_and_more_bits_than_features_or_rows_are_fine() -> None:
    features = np.random.default_rng(0).normal(size=(10, 3))
    with_constants = np.column_stack([features, np.full(10, 7.0), np.zeros(10)])
    codes = SH(40).fit_transform(with_constants)
    assert codes.shape == (10, 40)
    # Offsets move the projections by rounding only; the cosines are those of the three columns that vary.
    np.testing.assert_array_equal(codes, SH(40).fit_transform(features))


def test_rows_that_are_all_alike_get_one_code() -> None:
    assert len(np.unique(SH(12).fit_transform(np.full((5, 4), 3.0)), axis=0)) == 1


def test_nothing_is_random() -> None:
    features = np.random.default_rng(0).normal(size=(100, 6))
    np.testing.assert_array_equal(SH(9, random_state=1).fit_transform(features), SH(9).fit_transform(features))
