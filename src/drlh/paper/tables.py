"""What is run for each table and figure of the paper, and for the few that it leaves out.

A table has panels (a data set under a protocol, with code lengths) and rows (a method with parameters). The quick form
of a table takes minutes: fewer lengths, mostly digits, and fewer epochs of the paper's slow agent.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from drlh.core.errors import UserError
from drlh.hashers.methods import METHODS, REFERENCES, find_method
from drlh.paper.published import published_rows

CONTROLS = ("graded", "center", "bce", "score-lsh", "onehot", "lsh")
STEP_LIMITS = (1, 2, 4, 8, 16, 32, 64, 128)
BUDGETS = (1, 2, 5, 10, 20)  # epochs, for mAP over training time
CNN_ROLES = ("cnn-pretrained", "cnn-finetuned", "cnn-joint")  # the same network, used in three ways
PAPER_METHOD = "drlh-paper"  # the agent as the paper describes it


@dataclass(frozen=True)
class Panel:
    """A data set, by the role it plays, under a protocol."""

    role: str
    protocol: str
    bits: tuple[int, ...]
    n_query: int | None = None
    n_train: int | None = None


@dataclass(frozen=True)
class Row:
    """A line of a table: a method with parameters, under the name that readers see."""

    name: str
    method: str
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Table:
    name: str
    title: str
    panels: tuple[Panel, ...]
    quick: tuple[Panel, ...]
    rows: Callable[[int], list[Row]]  # of a code length
    snapshot: str | None = None  # what is kept instead of scores: `tsne` or `walks`


def _listed(table: str, *more: str) -> Callable[[int], list[Row]]:
    """The paper's rows, further methods, the controls and the reference lines."""
    rows = [Row(name, name.lower()) for name in published_rows(table, "cifar10")]
    known = {row.method for row in rows}
    others = [PAPER_METHOD, *more, *CONTROLS, *(line.name for line in REFERENCES)]
    rows += [Row(find_method(name).written, name) for name in others if name not in known]
    rows += [Row("bce on the paper's codewords", "bce", {"codebook": "bch-paper"})]
    return lambda n_bits: rows


def _every(n_bits: int) -> list[Row]:
    return [Row(method.written, method.name) for method in METHODS + REFERENCES]


def _eta(n_bits: int) -> list[Row]:
    # The radius of the paper's codes is 3 at 16 bits and 7 at 32.
    return [Row(f"η = {eta}", PAPER_METHOD, {"eta": eta}) for eta in range(8 if n_bits >= 32 else 4)]


def _steps(n_bits: int) -> list[Row]:
    agents = {"default": "drlh", "paper": PAPER_METHOD}
    return [Row(f"{name}, M = {m}", method, {"max_steps": m}) for name, method in agents.items() for m in STEP_LIMITS]


def _actions(n_bits: int) -> list[Row]:
    changes: dict[str, dict[str, Any]] = {
        "1 bit": {},
        "1 or 2 bits": {"max_flips": 2},
        "pairs from epoch 10 on": {"max_flips": 2, "pairs_from": 10},
        "pairs composed of singles": {"max_flips": 2, "composed_pairs": True},
    }
    return [Row(name, PAPER_METHOD, change) for name, change in changes.items()]


def _ablation(n_bits: int) -> list[Row]:
    changes: dict[str, dict[str, Any]] = {
        "default": {},
        "no look-ahead (gamma 0)": {"gamma": 0.0},
        "codebook stays BCH": {"codebook_adaptation": 0.0},
        "codebook random, stays": {"codebook": "random", "codebook_adaptation": 0.0},
        "one branch of 1,024": {"ensemble_size": 1, "hidden_size": 1024},
        "fixed start code": {"start": "fixed"},
        "features not compressed": {"feature_power": 1.0},
    }
    return [*(Row(name, "drlh", change) for name, change in changes.items()), Row("paper", PAPER_METHOD)]


def _agent(n_bits: int) -> list[Row]:
    """The paper's agent with one change at a time; the last are not in the paper."""
    changes: dict[str, dict[str, Any]] = {
        "as it is": {},
        "features not scaled to the code": {"input_balance": None},
        "code as 0/1": {"code_input": "bits"},
        "1 replayed step for each walked": {"replay_ratio": 1},
        "random exploration": {"guided": False},
        "γ = 0.7": {"gamma": 0.7},
        "γ = 0.97": {"gamma": 0.97},
        "no target network": {"target_update_interval": 0},
        "double Q": {"double_q": True},
        "no dropout": {"dropout": 0.0, "feature_dropout": 0.0},
        "no history": {"use_history": False},
        "256 units a layer": {"hidden_size": 256},
        "1 hidden layer": {"n_layers": 1},
        "3 hidden layers": {"n_layers": 3},
        "+ hindsight": {"hindsight": 0.5},
        "+ actions relative to the code": {"relative_actions": True},
        "+ label correlations": {"label_correlation": 1.0},
        "+ Fastfood layers": {"layer": "fastfood"},
        "+ tensor-train layers": {"layer": "tensor-train"},
    }
    return [Row(name, PAPER_METHOD, change) for name, change in changes.items()]


def _timing(n_bits: int) -> list[Row]:
    rows = [Row("DRLH", "drlh"), Row("DRLH (paper)", PAPER_METHOD)]
    if n_bits == 32:
        names = ("drlh", "greedyhash", "hashnet")
        rows += [
            Row(f"{find_method(name).written}, {n} epochs", name, {"n_epochs": n}) for name in names for n in BUDGETS
        ]
    return rows


def _picked(*methods: str) -> Callable[[int], list[Row]]:
    return lambda n_bits: [Row(find_method(name).written, name) for name in methods]


_DIGITS = Panel("digits", "split", (16,), n_query=500)
_FEW = Panel("digits", "split", (16,), n_query=300, n_train=500)
_WHOLE = Panel("digits", "split", (16,))
_CIFAR = Panel("cifar10", "cifar10-I", (16, 32))

_ALL = (
    Table(
        "traditional",
        "Traditional features",
        (
            Panel("gist", "cifar10-I", (12, 24, 32, 48)),
            Panel("gist", "cifar10-I-train", (12, 24, 32, 48)),  # the paper does not say which images it searches
            Panel("nuswide", "nuswide21-I", (12, 24, 32, 48)),
        ),
        (Panel("gist", "cifar10-I", (12,)),),
        _listed("traditional"),
    ),
    Table(
        "cnn",
        "Features of a CNN, 5,000 training images",
        (
            Panel("cifar10", "cifar10-I", (16, 24, 32, 48)),
            Panel("nuswide-cnn", "nuswide21-I", (16, 24, 32, 48)),
        ),
        (Panel("cifar10", "cifar10-I", (16,)),),
        _listed("cnn", "greedyhash", "hashnet"),
    ),
    Table(
        "deep",
        "Deep methods, the database is the training set",
        (
            Panel("cifar10", "cifar10-II", (16, 24, 32, 48)),
            Panel("nuswide-cnn", "nuswide21-II", (16, 24, 32, 48)),
        ),
        (_DIGITS,),
        _listed("deep"),
    ),
    Table("eta", "The radius η of a good stop", (_WHOLE, _CIFAR), (_FEW,), _eta),
    Table("steps", "The step limit M", (_WHOLE, _CIFAR), (_FEW,), _steps),
    Table(
        "actions",
        "One bit a step, or one or two",
        (_WHOLE, Panel("cifar10", "cifar10-I", (16, 24, 32, 48))),
        (_FEW,),
        _actions,
    ),
    Table(
        "cnn-update",
        "Update the CNN or not",
        tuple(Panel(role, "cifar10-I", (16, 32)) for role in CNN_ROLES),
        tuple(Panel(role, "split", (16,), n_query=300, n_train=500) for role in CNN_ROLES),
        _picked("drlh"),
    ),
    Table(
        "tsne",
        "t-SNE of the codes",
        (Panel("cifar10", "cifar10-I", (48,)),),
        (_DIGITS,),
        _picked("drlh", PAPER_METHOD, "hashnet"),
        "tsne",
    ),
    Table(
        "timing",
        "Time",
        (Panel("cifar10", "cifar10-I", (12, 16, 24, 32, 48, 64)),),
        (Panel("digits", "split", (16, 32, 48), n_query=500),),
        _timing,
    ),
    Table(
        "walks",
        "Walks of single images",
        (Panel("cifar10", "cifar10-I", (32,)),),
        (Panel("digits", "split", (32,), n_query=500),),
        _picked("drlh", PAPER_METHOD),
        "walks",
    ),
    Table(
        "ablation",
        "What each departure from the paper is worth",
        (_WHOLE, Panel("cifar10", "cifar10-I", (16, 48))),
        (_FEW,),
        _ablation,
    ),
    Table(
        "agent",
        "What decides whether the paper's agent learns",
        (Panel("cifar10", "cifar10-I", (16,)),),
        (_FEW,),
        _agent,
    ),
    Table("multilabel", "Several labels", (Panel("voc", "split", (16, 24, 32, 48), n_query=500),), (), _every),
    Table(
        "digits", "Every method on digits", (Panel("digits", "split", (16, 32, 48), n_query=500),), (_DIGITS,), _every
    ),
)
TABLES: dict[str, Table] = {table.name: table for table in _ALL}


def find_tables(names: str) -> list[Table]:
    """Tables by names with commas between them; `all` is every one."""
    wanted = list(TABLES) if names == "all" else [name for name in names.replace(" ", "").split(",") if name]
    for name in wanted:
        if name not in TABLES:
            raise UserError(f"there is no table {name!r}: choose among {', '.join(TABLES)}, or all")
    if not wanted:
        raise UserError(f"name at least one table: {', '.join(TABLES)}, or all")
    return [TABLES[name] for name in wanted]
