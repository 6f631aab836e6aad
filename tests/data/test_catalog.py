from pathlib import Path

import pytest

from drlh.data import list_sets


def test_list_sets_tells_what_is_here_and_how_to_get_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRLH_CACHE", str(tmp_path))
    before = {entry["name"]: entry for entry in list_sets()}
    assert list(before) == ["digits", "cifar10", "fashion-mnist", "nuswide21", "voc2007"]
    assert before["digits"]["present"]
    assert not before["nuswide21"]["present"]
    assert str(tmp_path / "data" / "nuswide21") in before["nuswide21"]["how"]
    (tmp_path / "data" / "nuswide21" / "Groundtruth" / "AllLabels").mkdir(parents=True)
    after = {entry["name"]: entry for entry in list_sets()}
    assert after["nuswide21"]["present"]
    assert after["nuswide21"]["directory"] == str(tmp_path / "data" / "nuswide21")
