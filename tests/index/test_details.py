"""Names and labels of rows."""

import numpy as np
import pytest

from drlh.core.errors import UserError
from drlh.index.details import Details


def test_names_and_labels_must_be_as_many() -> None:
    with pytest.raises(UserError, match="got 2 and 1"):
        Details(np.array(["a", "b"]), np.array([0]), ("cat",))
