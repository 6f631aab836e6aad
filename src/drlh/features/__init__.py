"""Images → float32 feature rows, cached on disk by content. Names are loaded on first use."""

from typing import TYPE_CHECKING

from drlh.core.lazy import lazy_getattr

if TYPE_CHECKING:
    from drlh.features.extraction import Extraction, extract, extract_to_npz, load_features, with_features
    from drlh.features.extractor import Extractor
    from drlh.features.making import extractor_from, make_extractor
    from drlh.features.pipeline import FeatureBlock, extract_blocks

_MODULES = {
    "Extraction": ".extraction",
    "Extractor": ".extractor",
    "FeatureBlock": ".pipeline",
    "extract": ".extraction",
    "extract_blocks": ".pipeline",
    "extract_to_npz": ".extraction",
    "extractor_from": ".making",
    "load_features": ".extraction",
    "make_extractor": ".making",
    "with_features": ".extraction",
}
__all__ = [
    "Extraction",
    "Extractor",
    "FeatureBlock",
    "extract",
    "extract_blocks",
    "extract_to_npz",
    "extractor_from",
    "load_features",
    "make_extractor",
    "with_features",
]

if not TYPE_CHECKING:
    __getattr__ = lazy_getattr(__name__, _MODULES)
