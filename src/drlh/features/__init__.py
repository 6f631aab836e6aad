"""Images → float32 feature rows, cached on disk by content.

Networks and their libraries are loaded when an extractor that needs them is made, not before.
"""

from drlh.features.extraction import Extraction, extract, extract_to_npz, with_features
from drlh.features.extractor import Extractor
from drlh.features.making import extractor_from, make_extractor
from drlh.features.pipeline import Block, extract_blocks

__all__ = [
    "Block",
    "Extraction",
    "Extractor",
    "extract",
    "extract_blocks",
    "extract_to_npz",
    "extractor_from",
    "make_extractor",
    "with_features",
]
