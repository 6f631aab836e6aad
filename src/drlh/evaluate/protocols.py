"""Evaluation protocols, frozen: split rule, relevance, cut, divisor and tie rule under one name and version.

A split depends on (protocol, version, parameters, seed, labels, test rows) and on nothing else.
"""

import difflib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import drlh.evaluate.split_rules as split_rules
from drlh.core.errors import UserError
from drlh.core.files import check_format, digest, read_npz, write_npz
from drlh.data.labels import Labels
from drlh.evaluate.counts import one_label_set
from drlh.evaluate.ranking import Divisor
from drlh.evaluate.splits import Shuffle, Split, split_digest

__all__ = [
    "PROTOCOLS",
    "Protocol",
    "Split",
    "StoredSplit",
    "get_protocol",
    "labels_digest",
    "load_split",
    "save_split",
    "split_digest",
]

FORMAT, VERSION = "drlh-split", 1


@dataclass(frozen=True)
class Protocol:
    """One way to evaluate: `split` draws its rows, `top_k` and `divisor` say how to score.

    Images that share a label are relevant to each other, and mAP is the expectation over all orders of ties.
    """

    name: str
    rule: Callable[[split_rules.Request], Split]
    top_k: int | None  # mAP cut, None = all
    draws_as: str  # protocols of one family draw the same queries
    free_sizes: bool = False  # whether n_query and n_train may be given
    parameters: Mapping[str, Any] = field(default_factory=dict, hash=False)
    version: int = 1
    divisor: Divisor = "min"

    @property
    def title(self) -> str:
        """The name, with the parameters that differ from the protocol's own."""
        own = PROTOCOLS[self.name].parameters
        changed = [f"{key}={value}" for key, value in self.parameters.items() if value != own[key]]
        return f"{self.name} ({', '.join(changed)})" if changed else self.name

    def split(
        self,
        labels: Labels,
        test_mask: NDArray[np.bool_] | None,
        seed: int,
        n_query: int | None = None,
        n_train: int | None = None,
    ) -> Split:
        """Rows of a data set with these labels and, where it has any, its publisher's test rows (n,) bool."""
        labels = one_label_set(labels, "labels")
        if len(labels) < 2:
            raise UserError(f"{self.name} needs at least two labelled images: got {len(labels)}")
        if not self.free_sizes and (n_query is not None or n_train is not None):
            raise UserError(f"{self.name} fixes its own sizes: leave out n_query and n_train, or use `split`")
        if test_mask is not None and (test_mask.dtype != np.bool_ or test_mask.shape != labels.shape[:1]):
            raise UserError(
                f"the test mask must hold one true or false for each of the {len(labels)} labels: "
                f"got shape {test_mask.shape} of type {test_mask.dtype}"
            )
        shuffle = Shuffle(self.draws_as, self.version, seed)
        request = split_rules.Request(
            self.name, labels, test_mask, shuffle, int(seed), n_query, n_train, self.parameters
        )
        return self.rule(request)


def get_protocol(name: str, **parameters: Any) -> Protocol:
    """The protocol of that name; `parameters` replace its own where it has any."""
    if name not in PROTOCOLS:
        near = difflib.get_close_matches(name, PROTOCOLS, n=1, cutoff=0)
        raise UserError(
            f"there is no protocol {name!r}, the nearest name is {near[0]}: choose one of {', '.join(PROTOCOLS)}"
        )
    protocol = PROTOCOLS[name]
    for key, value in parameters.items():
        if key not in protocol.parameters:
            raise UserError(f"{name} has no parameter {key!r}: it has {', '.join(protocol.parameters) or 'none'}")
        own = protocol.parameters[key]
        if type(value) is not type(own):
            raise UserError(f"{key} of {name} must be a {type(own).__name__}, like {own!r}: got {value!r}")
    return replace(protocol, parameters={**protocol.parameters, **parameters})


_ALL = [
    # 100 query and 500 train images of each class; database: all that are not queries
    Protocol(
        name="cifar10-I",
        rule=split_rules.cifar10_1,
        top_k=None,
        draws_as="cifar10-I",
    ),
    # cifar10-I with the train images left out of the database
    Protocol(
        name="cifar10-I-disjoint",
        rule=split_rules.cifar10_1_disjoint,
        top_k=None,
        draws_as="cifar10-I",
    ),
    # cifar10-I with the train images alone as the database
    Protocol(
        name="cifar10-I-train",
        rule=split_rules.cifar10_1_train,
        top_k=None,
        draws_as="cifar10-I",
    ),
    # the publisher's test images (or 1,000 of each class) against all others, which are train too
    Protocol(
        name="cifar10-II",
        rule=split_rules.cifar10_2,
        top_k=None,
        draws_as="cifar10-II",
        parameters={"random_query": False, "query_per_class": 1000},
    ),
    # 100 query and 500 train images for each concept; database: all that are not queries
    Protocol(
        name="nuswide21-I",
        rule=split_rules.nuswide_1,
        top_k=5000,
        draws_as="nuswide21-I",
    ),
    # the queries of nuswide21-I against all others, which are train too
    Protocol(
        name="nuswide21-II",
        rule=split_rules.nuswide_2,
        top_k=50000,
        draws_as="nuswide21-I",
    ),
    # train on three quarters of the classes, query and search the others (Sablayrolles et al. 2017)
    Protocol(
        name="unseen-classes",
        rule=split_rules.unseen_classes,
        top_k=None,
        draws_as="unseen-classes",
        free_sizes=True,
        parameters={"held_out": 0.25},
    ),
    # a random tenth, at most 1,000, as queries; database, and train unless n_train is given: the rest
    Protocol(
        name="split",
        rule=split_rules.random_split,
        top_k=None,
        draws_as="split",
        free_sizes=True,
    ),
]
PROTOCOLS: dict[str, Protocol] = {protocol.name: protocol for protocol in _ALL}


@dataclass(frozen=True, eq=False)
class StoredSplit:
    """A split read from a file, with what made it."""

    split: Split
    protocol: str
    protocol_version: int
    parameters: dict[str, Any]
    seed: int


def labels_digest(labels: Labels) -> str:
    """SHA-256 of labels, the same for every integer type they may be held in."""
    checked = one_label_set(labels, "labels")
    return digest(checked.astype("<i8") if checked.ndim == 1 else checked)


def save_split(path: str | Path, split: Split, protocol: Protocol, seed: int, labels: Labels) -> None:
    """Writes the rows, what made them, and digests: an NPZ with a member for each set and one of JSON."""
    about = {
        "format": FORMAT,
        "version": VERSION,
        "protocol": protocol.name,
        "protocol_version": protocol.version,
        "parameters": dict(protocol.parameters),
        "seed": int(seed),
        "labels": labels_digest(labels),
        "rows": split_digest(split),
    }
    member = np.frombuffer(json.dumps(about).encode(), np.uint8)
    write_npz(path, {"about": member, "query": split.query, "train": split.train, "database": split.database})


def load_split(path: str | Path, labels: Labels) -> StoredSplit:
    """The split in `path`, refused where it is damaged or was made for other labels."""
    arrays = read_npz(path, map_members=False)
    about = _about(path, arrays)
    try:
        split = Split(*(np.asarray(arrays[name], np.int64) for name in ("query", "train", "database")))
        stored = StoredSplit(
            split, about["protocol"], about["protocol_version"], dict(about["parameters"]), about["seed"]
        )
        rows, of_labels = about["rows"], about["labels"]
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"{path} is a damaged split file ({error!r}): create it again") from error
    if split_digest(split) != rows:
        raise UserError(f"{path} is a damaged split file: its rows do not have the digest it names; create it again")
    if labels_digest(labels) != of_labels:
        raise UserError(f"{path} was made for other labels than the {len(labels)} given: use it with its own data")
    return stored


def _about(path: str | Path, arrays: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    try:
        about = json.loads(arrays["about"].tobytes())
    except (KeyError, ValueError) as error:
        raise UserError(f"{path} is not a {FORMAT} file: it has no member `about` of JSON") from error
    about = about if isinstance(about, dict) else {}
    check_format(about, path, format_name=FORMAT, version=VERSION)
    return dict(about)
