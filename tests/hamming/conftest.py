"""Every engine of this machine: faiss, and the kernel at each of its levels."""

from collections.abc import Iterator

import pytest

from drlh.hamming.engine import engines, using


@pytest.fixture(params=engines())
def engine_name(request: pytest.FixtureRequest) -> Iterator[str]:
    with using(request.param):
        yield request.param


@pytest.fixture(params=engines()[1:])
def level(request: pytest.FixtureRequest) -> Iterator[str]:
    with using(request.param):
        yield request.param
