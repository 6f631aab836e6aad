"""Metrics (pure functions) and protocols (frozen, versioned)."""

from drlh.evaluate.counts import LevelCounts, count_levels, level_counts
from drlh.evaluate.legacy import LEGACY, legacy_mean_average_precision
from drlh.evaluate.metrics import (
    average_precisions,
    average_precisions_of,
    mean_average_precision,
    normalized_gains,
    precisions_at,
    precisions_by_radius,
    radius_average_precisions,
    recalls_at,
    recalls_by_radius,
)

__all__ = [
    "LEGACY",
    "LevelCounts",
    "average_precisions",
    "average_precisions_of",
    "count_levels",
    "legacy_mean_average_precision",
    "level_counts",
    "mean_average_precision",
    "normalized_gains",
    "precisions_at",
    "precisions_by_radius",
    "radius_average_precisions",
    "recalls_at",
    "recalls_by_radius",
]
