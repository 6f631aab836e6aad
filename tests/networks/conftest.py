"""A cache for each test, and drawn pictures, as for the features."""

from tests.features.conftest import cache as cache
from tests.features.conftest import pictures as pictures
