"""The list of methods: one line each. CLI, contract tests and tables follow from it."""

import difflib
import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from drlh.core.errors import UserError

if TYPE_CHECKING:  # scikit-learn takes a second to import: not before a hasher is made
    from drlh.hashers.base import Hasher
    from drlh.hashers.controls.topline import Topline


@dataclass(frozen=True)
class Method:
    """A name for the command line, and where its class lives."""

    name: str
    family: str  # traditional, deep, reinforcement or control
    supervised: bool
    class_name: str
    module: str
    reference: str
    version: int = 1  # raised when its numbers may move: its records are made again

    @property
    def written(self) -> str:
        """As people read it, mostly as its paper writes it; controls have no paper."""
        return self.name if self.family == "control" else _OTHERWISE.get(self.name, self.class_name)


# Where a method is not written as its class.
_OTHERWISE = {"drlh-paper": "DRLH (paper)", "talr-ap": "TALR-AP", "dqn": "Deep Quantization Network"}

_EVALUATION = "Sablayrolles et al., How should we evaluate supervised hashing?, ICASSP 2017"

METHODS = (
    Method(
        "drlh", "reinforcement", True, "DRLH", "drlh.hasher", "Wang, Hong & Yuan, Label embedding reward, WACV 2020"
    ),
    Method(
        "drlh-paper",
        "reinforcement",
        True,
        "DRLHPaper",
        "drlh_paper.hasher",
        "Wang, Hong & Yuan, Label embedding reward, WACV 2020: the agent as published",
        version=2,
    ),
    Method(
        "fasth", "traditional", True, "FastH", "classic.fasth.hasher", "Lin et al., Fast supervised hashing, CVPR 2014"
    ),
    Method("sh", "traditional", False, "SH", "classic.sh", "Weiss, Torralba & Fergus, Spectral hashing, NIPS 2008"),
    Method("itq", "traditional", False, "ITQ", "classic.itq", "Gong & Lazebnik, Iterative quantization, CVPR 2011"),
    Method(
        "lfh", "traditional", True, "LFH", "classic.lfh", "Zhang et al., Hashing with latent factor models, SIGIR 2014"
    ),
    Method("greedyhash", "deep", True, "GreedyHash", "deep.greedyhash", "Su et al., Greedy hash, NeurIPS 2018"),
    Method("hashnet", "deep", True, "HashNet", "deep.hashnet", "Cao et al., Hashing by continuation, ICCV 2017"),
    Method("dpsh", "deep", True, "DPSH", "deep.dpsh", "Li, Wang & Kang, Deep pairwise-supervised hashing, IJCAI 2016"),
    Method("ksh", "traditional", True, "KSH", "classic.ksh", "Liu et al., Supervised hashing with kernels, CVPR 2012"),
    Method("dsdh", "deep", True, "DSDH", "deep.dsdh", "Li et al., Deep supervised discrete hashing, NIPS 2017"),
    Method("dtsh", "deep", True, "DTSH", "deep.dtsh", "Wang, Shi & Kitani, Hashing with triplet labels, ACCV 2016"),
    Method("dagh", "deep", True, "DAGH", "deep.dagh", "Chen et al., Deep hashing with anchor graph, ICCV 2019"),
    Method("talr-ap", "deep", True, "TALRAP", "deep.talr_ap", "He et al., Tie-aware learning to rank, CVPR 2018"),
    Method("sdsh", "deep", True, "SDSH", "deep.sdsh", "Pidhorskyi et al., Hashing with spherical embedding, ACCV 2018"),
    Method("dsrh", "deep", True, "DSRH", "deep.dsrh", "Zhao et al., Deep semantic ranking based hashing, CVPR 2015"),
    Method("ninh", "deep", True, "NINH", "deep.ninh", "Lai et al., Feature learning and hash coding, CVPR 2015"),
    Method("drlih", "deep", True, "DRLIH", "deep.drlih", "Peng, Zhang & Ye, Image hashing by RL, TMM 2020"),
    Method("pgdh", "deep", True, "PGDH", "deep.pgdh", "Yuan et al., Relaxation-free deep hashing, ECCV 2018"),
    Method("ssdh", "deep", True, "SSDH", "deep.ssdh", "Yang, Lin & Chen, Semantics-preserving hash, TPAMI 2018"),
    Method("hbmp", "deep", True, "HBMP", "deep.hbmp", "Cakir, He & Sclaroff, Binary matrix pursuit, ECCV 2018"),
    Method(
        "dqn", "deep", True, "DeepQuantizationNetwork", "deep.dqn", "Cao et al., Deep quantization network, AAAI 2016"
    ),
    Method("vdsh", "deep", True, "VDSH", "deep.vdsh", "Zhang, Chen & Saligrama, Very deep hashing, CVPR 2016"),
    Method("graphbit", "deep", False, "GraphBit", "deep.graphbit", "Duan et al., GraphBit, CVPR 2018"),
    Method("lsh", "control", False, "LSH", "classic.lsh", "Charikar, Similarity estimation by rounding, STOC 2002"),
    Method("sdh", "traditional", True, "SDH", "classic.sdh", "Shen et al., Supervised discrete hashing, CVPR 2015"),
    Method("onehot", "control", True, "OneHot", "controls.onehot", _EVALUATION),
    Method("score-lsh", "control", True, "ScoreLSH", "controls.score_lsh", _EVALUATION),
    Method("bce", "control", True, "BCE", "controls.bce", "Cross-entropy on the codewords of DRLH"),
    Method("graded", "control", True, "Graded", "controls.graded", "Weighted cross-entropy on graded codewords"),
    Method("center", "control", True, "Center", "controls.center", "Hoe et al., One loss for all, NeurIPS 2021"),
)

# Lines to compare with: they rank by real values and make no codes, so one value stands for every length.
REFERENCES = (Method("topline", "control", True, "Topline", "controls.topline", _EVALUATION),)

DEFAULT_METHOD = "drlh"


def find_method(name: str) -> Method:
    for method in METHODS + REFERENCES:
        if name in (method.name, method.class_name):
            return method
    names = [method.name for method in METHODS + REFERENCES]
    close = difflib.get_close_matches(name.lower(), names, 1, 0.4)
    hint = f"did you mean {close[0]!r}?" if close else f"choose one of {', '.join(names)}"
    raise UserError(f"there is no method {name!r}; {hint}")


def is_reference(name: str) -> bool:
    return find_method(name) in REFERENCES


def hasher_class(name: str) -> type["Hasher"]:
    method = find_method(name)
    if method in REFERENCES:
        raise UserError(f"{method.name} makes no codes: it is a line to compare with, for `drlh bench` alone")
    cls: type[Hasher] = _class_of(method)
    return cls


def make_hasher(name: str, n_bits: int = 32, **parameters: Any) -> "Hasher":
    """An unfitted hasher by name, for example `make_hasher("itq", 48, random_state=0)`."""
    return hasher_class(name)(n_bits=n_bits, **parameters)


def make_reference(name: str, **parameters: Any) -> "Topline":
    """An unfitted reference line by name."""
    from drlh.hashers.base import refuse_unknown

    cls: type[Topline] = _class_of(find_method(name))
    refuse_unknown(cls, parameters)
    return cls(**parameters)


def _class_of(method: Method) -> Any:
    return getattr(importlib.import_module(f"drlh.hashers.{method.module}"), method.class_name)
