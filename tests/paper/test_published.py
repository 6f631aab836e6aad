"""The paper's numbers: some looked up by hand, and the whole in shape."""

import pytest

from drlh.hashers.methods import find_method
from drlh.paper.published import citation, published_curve, published_map, published_rows


def test_numbers_are_where_the_paper_has_them() -> None:
    assert published_map("traditional", "cifar10", "DRLH", 12) == 0.556
    assert published_map("traditional", "nuswide21", "FastH", 48) == 0.687
    assert published_map("cnn", "cifar10", "HBMP", 16) == 0.799
    assert published_map("cnn", "nuswide21", "DRLH", 48) == 0.833
    assert published_map("deep", "cifar10", "VDSH", 32) == 0.880
    assert published_map("deep", "nuswide21", "DAGH", 24) == 0.789
    assert published_curve("eta", "cifar10", 16) == {0: 0.917, 1: 0.945, 2: 0.949, 3: 0.932}
    assert published_curve("steps", "nuswide21", 32)[32] == 0.847


def test_what_the_paper_leaves_blank_is_none() -> None:
    assert published_map("deep", "cifar10", "DRLIH", 16) is None
    assert published_map("deep", "nuswide21", "GreedyHash", 16) is None
    assert published_map("cnn", "cifar10", "DRLH", 12) is None
    assert published_curve("eta", "cifar10", 48) == {}


@pytest.mark.parametrize("table", ["traditional", "cnn", "deep"])
def test_every_row_is_a_method_here_and_drlh_comes_last(table: str) -> None:
    for data in ("cifar10", "nuswide21"):
        rows = published_rows(table, data)
        assert rows[-1] == "DRLH"
        assert all(find_method(row.lower()).name == row.lower() for row in rows)


def test_the_paper_is_named() -> None:
    assert "WACV 2020" in citation()
