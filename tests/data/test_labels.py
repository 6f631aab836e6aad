import numpy as np

from drlh.data import DataSet, label_names


def test_an_id_has_one_name_and_a_multi_hot_row_those_of_its_ones() -> None:
    assert label_names(np.int64(1), ("ant", "bee")) == ["bee"]
    assert label_names(np.array([1, 0, 1], np.uint8), ("ant", "bee", "cat")) == ["ant", "cat"]


def test_a_data_set_knows_the_names_of_a_rows_classes() -> None:
    assert DataSet("two", np.array([1, 0]), ("ant", "bee")).label_names(0) == ["bee"]
