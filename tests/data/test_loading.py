from pathlib import Path

import pytest

from drlh.core.errors import UserError
from drlh.data import load


def test_an_unknown_name_gets_the_known_names_and_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"'cifra10' .*did you mean cifar10.*digits, cifar10, fashion-mnist"):
        load("cifra10")
    with pytest.raises(UserError, match=r"neither an existing path nor a data set's name: the names are"):
        load(tmp_path / "nothing.csv")


def test_a_name_that_is_not_here_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRLH_CACHE", str(tmp_path))
    with pytest.raises(UserError, match=rf"cifar10 is not in {tmp_path}/data/cifar10: run `drlh data fetch cifar10`"):
        load("cifar10")
    with pytest.raises(UserError, match=rf"put its directories .* into {tmp_path}/mine"):
        load("nuswide21", directory=tmp_path / "mine")


def test_a_file_of_an_unknown_kind_is_refused(tmp_path: Path) -> None:
    (tmp_path / "set.xlsx").write_text("")
    with pytest.raises(UserError, match=r"wanted a file ending in \.npz, \.csv, \.tsv"):
        load(tmp_path / "set.xlsx")


def test_a_directory_goes_only_with_a_name(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="a directory goes with the name of a data set"):
        load(tmp_path, directory=tmp_path)


def test_a_path_called_like_a_data_set_is_still_a_path(tmp_path: Path) -> None:
    (tmp_path / "digits").mkdir()
    with pytest.raises(UserError, match="wanted one sub-folder for each class"):
        load(tmp_path / "digits")
