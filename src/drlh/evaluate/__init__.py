"""Metrics (pure functions) and protocols (frozen, versioned). Names are loaded on first use."""

from typing import TYPE_CHECKING

from drlh.core.lazy import lazy_getattr

if TYPE_CHECKING:
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

_MODULES = {
    "LEGACY": ".legacy",
    "LevelCounts": ".counts",
    "average_precisions": ".metrics",
    "average_precisions_of": ".metrics",
    "count_levels": ".counts",
    "legacy_mean_average_precision": ".legacy",
    "level_counts": ".counts",
    "mean_average_precision": ".metrics",
    "normalized_gains": ".metrics",
    "precisions_at": ".metrics",
    "precisions_by_radius": ".metrics",
    "radius_average_precisions": ".metrics",
    "recalls_at": ".metrics",
    "recalls_by_radius": ".metrics",
}
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

if not TYPE_CHECKING:
    __getattr__ = lazy_getattr(__name__, _MODULES)
