"""Features as a network wants to see them: large values pressed together, every column centred and of size 1."""

import numpy as np

from drlh.hashers.base import Features


def powered(features: Features, power: float) -> Features:
    """Signed power, for example the square root with 0.5: a few large values no longer drown the others."""
    if power == 1:
        return features
    return np.asarray(np.sign(features) * np.abs(features) ** power)


def column_scale(features: Features) -> tuple[Features, Features]:
    """(mean, scale) of each column; a column that hardly varies is not blown up to the size of the others."""
    floor = 0.01 * np.sqrt(features.var(axis=0).mean())
    return features.mean(axis=0), features.std(axis=0) + floor + 1e-8
