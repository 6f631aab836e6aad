"""Records read back from disk."""

from pathlib import Path

import numpy as np
import pytest

from drlh.bench.bench import Bench, cells_of
from drlh.bench.records import arrays_of, by_group, read_records
from drlh.core.errors import UserError
from drlh.core.files import write_json
from drlh.data.base import DataSet
from drlh.evaluate.protocols import get_protocol


def fill(directory: Path, *sizes: int) -> None:
    rng = np.random.default_rng(0)
    data = DataSet("small", np.arange(60) % 3, ("a", "b", "c"), features=rng.normal(size=(60, 6)).astype(np.float32))
    for n_query in sizes:
        list(Bench(data, get_protocol("split"), n_query, records=directory).run(cells_of(["lsh"], [8], [0, 1], {})))


def test_records_come_with_their_arrays_and_fall_into_groups_of_equal_sizes(tmp_path: Path) -> None:
    fill(tmp_path, 10, 20)
    groups = by_group(read_records(tmp_path))
    assert sorted((group.n_query, len(found)) for group, found in groups.items()) == [(10, 2), (20, 2)]
    record = next(iter(groups.values()))[0]
    arrays = arrays_of(record)
    assert arrays["average_precision"].mean() == pytest.approx(record["map"], abs=1e-6)
    assert arrays["precision_by_radius"].shape == arrays["recall_by_radius"].shape == (9,)
    assert arrays["recall_by_radius"][-1] == pytest.approx(1)  # within 8 of 8 bits lies everything


def test_two_kinds_of_features_of_one_data_set_are_two_groups(tmp_path: Path) -> None:
    fill(tmp_path, 10)
    records = read_records(tmp_path)
    records += [record | {"features": "gist", "n_features": 512} for record in records]
    titles = [group.title for group in by_group(records)]
    assert titles == ["small, split: 10 queries, 50 training images, 50 searched", "small (gist), split: 10 queries, 50 training images, 50 searched"]  # fmt: skip  # noqa: E501


def test_files_of_other_formats_are_passed_over(tmp_path: Path) -> None:
    fill(tmp_path, 10)
    write_json(tmp_path / "other.json", {"format": "drlh-look", "version": 1})
    assert len(read_records(tmp_path)) == 2


def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not a directory"):
        read_records(tmp_path / "none")
    (tmp_path / "cut.json").write_text('{"format": "drlh-rec', encoding="utf-8")
    with pytest.raises(UserError, match=r"cut\.json is damaged"):
        read_records(tmp_path)
    (tmp_path / "cut.json").unlink()
    write_json(tmp_path / "new.json", {"format": "drlh-record", "version": 99})
    with pytest.raises(UserError, match="update drlh"):
        read_records(tmp_path)
