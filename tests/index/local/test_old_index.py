"""An index directory that an older version wrote opens and answers as it did then.

`old_index` has three segments: lists and rows, with and without names, two of them with tombstones. Beside it,
`old_index_answers.json` holds what that version answered.
"""

import json
import shutil
from pathlib import Path

import numpy as np

from drlh.index.local.index import LocalIndex
from drlh.index.opening import open_index

HERE = Path(__file__).parent
ANSWERS = json.loads((HERE / "old_index_answers.json").read_text(encoding="utf-8"))


def test_an_old_index_answers_as_it_did() -> None:
    queries = np.array(ANSWERS["queries"], np.uint8)
    with open_index(HERE / "old_index") as index:
        assert (len(index), index.n_bits, index.highest_id()) == (ANSWERS["rows"], 16, ANSWERS["highest_id"])
        assert index.notes == {"data": "photos", "model_sha256": "ab" * 32}
        hits = index.search(queries, 25)
        assert (hits.distances.tolist(), hits.ids.tolist()) == (ANSWERS["distances"], ANSWERS["ids"])
        within = index.search_radius(queries, 4)
        assert [[found.distances.tolist(), found.ids.tolist()] for found in within] == ANSWERS["radius"]
        described = index.describe(ANSWERS["all_ids"])
        assert [detail and [detail.name, list(detail.labels)] for detail in described] == ANSWERS["described"]
        packed, known = index.codes(ANSWERS["all_ids"])
        codes = np.array(ANSWERS["codes"], np.uint8)
        assert known.tolist() == ANSWERS["there"]
        np.testing.assert_array_equal(packed[known], codes[known])
        assert index.labelled(ANSWERS["all_ids"], "eel").tolist() == ANSWERS["eel"]


def test_an_old_index_can_be_added_to_and_removed_from(tmp_path: Path) -> None:
    shutil.copytree(HERE / "old_index", tmp_path / "index")
    index = LocalIndex.open(tmp_path / "index")
    index.add(np.zeros((2, 2), np.uint8), [5, 500])
    assert index.remove([0, 100]) == 2
    again = LocalIndex.open(tmp_path / "index")
    assert len(again) == ANSWERS["rows"]
    assert again.search(np.zeros((1, 2), np.uint8), 2).ids.tolist() == [[5, 500]]
