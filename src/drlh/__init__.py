"""Learn short binary codes for images and search millions of images with them.

Everything below is loaded when it is first used, so `import drlh` takes a few hundredths of a second.
"""

from typing import TYPE_CHECKING

from drlh.core.lazy import lazy_getattr

if TYPE_CHECKING:
    from drlh.core.codes import hamming_distances, pack, unpack
    from drlh.core.errors import UserError
    from drlh.data.base import DataSet
    from drlh.evaluate.counts import count_levels
    from drlh.evaluate.metrics import (
        average_precisions,
        mean_average_precision,
        normalized_gains,
        precisions_at,
        recalls_at,
    )
    from drlh.evaluate.protocols import get_protocol
    from drlh.hashers.base import Hasher
    from drlh.hashers.classic.fasth.hasher import FastH
    from drlh.hashers.classic.itq import ITQ
    from drlh.hashers.classic.ksh import KSH
    from drlh.hashers.classic.lfh import LFH
    from drlh.hashers.classic.lsh import LSH
    from drlh.hashers.classic.sdh import SDH
    from drlh.hashers.classic.sh import SH
    from drlh.hashers.controls.bce import BCE
    from drlh.hashers.controls.center import Center
    from drlh.hashers.controls.graded import Graded
    from drlh.hashers.controls.onehot import OneHot
    from drlh.hashers.controls.score_lsh import ScoreLSH
    from drlh.hashers.deep.dagh import DAGH
    from drlh.hashers.deep.dpsh import DPSH
    from drlh.hashers.deep.dqn import DeepQuantizationNetwork
    from drlh.hashers.deep.drlih import DRLIH
    from drlh.hashers.deep.dsdh import DSDH
    from drlh.hashers.deep.dsrh import DSRH
    from drlh.hashers.deep.dtsh import DTSH
    from drlh.hashers.deep.graphbit import GraphBit
    from drlh.hashers.deep.greedyhash import GreedyHash
    from drlh.hashers.deep.hashnet import HashNet
    from drlh.hashers.deep.hbmp import HBMP
    from drlh.hashers.deep.ninh import NINH
    from drlh.hashers.deep.pgdh import PGDH
    from drlh.hashers.deep.sdsh import SDSH
    from drlh.hashers.deep.ssdh import SSDH
    from drlh.hashers.deep.talr_ap import TALRAP
    from drlh.hashers.deep.vdsh import VDSH
    from drlh.hashers.drlh.hasher import DRLH
    from drlh.hashers.drlh_paper.hasher import DRLHPaper
    from drlh.hashers.methods import make_hasher
    from drlh.hashers.model_file import load_hasher, save_hasher
    from drlh.hashers.training.agents import Trace
    from drlh.index.base import Hits, Index
    from drlh.index.local.index import LocalIndex
    from drlh.index.opening import create_index, open_index
    from drlh.model import Model

__version__ = "0.1.0"

_HOMES = {
    "BCE": "drlh.hashers.controls.bce",
    "Center": "drlh.hashers.controls.center",
    "DAGH": "drlh.hashers.deep.dagh",
    "DPSH": "drlh.hashers.deep.dpsh",
    "DRLH": "drlh.hashers.drlh.hasher",
    "DRLHPaper": "drlh.hashers.drlh_paper.hasher",
    "DRLIH": "drlh.hashers.deep.drlih",
    "DSDH": "drlh.hashers.deep.dsdh",
    "DSRH": "drlh.hashers.deep.dsrh",
    "DTSH": "drlh.hashers.deep.dtsh",
    "DataSet": "drlh.data.base",
    "DeepQuantizationNetwork": "drlh.hashers.deep.dqn",
    "FastH": "drlh.hashers.classic.fasth.hasher",
    "Graded": "drlh.hashers.controls.graded",
    "GraphBit": "drlh.hashers.deep.graphbit",
    "GreedyHash": "drlh.hashers.deep.greedyhash",
    "HBMP": "drlh.hashers.deep.hbmp",
    "HashNet": "drlh.hashers.deep.hashnet",
    "Hasher": "drlh.hashers.base",
    "Hits": "drlh.index.base",
    "ITQ": "drlh.hashers.classic.itq",
    "Index": "drlh.index.base",
    "KSH": "drlh.hashers.classic.ksh",
    "LFH": "drlh.hashers.classic.lfh",
    "LSH": "drlh.hashers.classic.lsh",
    "LocalIndex": "drlh.index.local.index",
    "Model": "drlh.model",
    "NINH": "drlh.hashers.deep.ninh",
    "OneHot": "drlh.hashers.controls.onehot",
    "PGDH": "drlh.hashers.deep.pgdh",
    "SDH": "drlh.hashers.classic.sdh",
    "SDSH": "drlh.hashers.deep.sdsh",
    "SH": "drlh.hashers.classic.sh",
    "SSDH": "drlh.hashers.deep.ssdh",
    "ScoreLSH": "drlh.hashers.controls.score_lsh",
    "TALRAP": "drlh.hashers.deep.talr_ap",
    "Trace": "drlh.hashers.training.agents",
    "UserError": "drlh.core.errors",
    "VDSH": "drlh.hashers.deep.vdsh",
    "average_precisions": "drlh.evaluate.metrics",
    "count_levels": "drlh.evaluate.counts",
    "create_index": "drlh.index.opening",
    "get_protocol": "drlh.evaluate.protocols",
    "hamming_distances": "drlh.core.codes",
    "load_hasher": "drlh.hashers.model_file",
    "make_hasher": "drlh.hashers.methods",
    "mean_average_precision": "drlh.evaluate.metrics",
    "normalized_gains": "drlh.evaluate.metrics",
    "open_index": "drlh.index.opening",
    "pack": "drlh.core.codes",
    "precisions_at": "drlh.evaluate.metrics",
    "recalls_at": "drlh.evaluate.metrics",
    "save_hasher": "drlh.hashers.model_file",
    "unpack": "drlh.core.codes",
}

__all__ = [
    "BCE",
    "DAGH",
    "DPSH",
    "DRLH",
    "DRLIH",
    "DSDH",
    "DSRH",
    "DTSH",
    "HBMP",
    "ITQ",
    "KSH",
    "LFH",
    "LSH",
    "NINH",
    "PGDH",
    "SDH",
    "SDSH",
    "SH",
    "SSDH",
    "TALRAP",
    "VDSH",
    "Center",
    "DRLHPaper",
    "DataSet",
    "DeepQuantizationNetwork",
    "FastH",
    "Graded",
    "GraphBit",
    "GreedyHash",
    "HashNet",
    "Hasher",
    "Hits",
    "Index",
    "LocalIndex",
    "Model",
    "OneHot",
    "ScoreLSH",
    "Trace",
    "UserError",
    "__version__",
    "average_precisions",
    "count_levels",
    "create_index",
    "get_protocol",
    "hamming_distances",
    "load_hasher",
    "make_hasher",
    "mean_average_precision",
    "normalized_gains",
    "open_index",
    "pack",
    "precisions_at",
    "recalls_at",
    "save_hasher",
    "unpack",
]


if not TYPE_CHECKING:  # a type checker sees the imports above, and finds a misspelt name
    __getattr__ = lazy_getattr(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
