"""The paper's tables with our numbers in them: same rows, same columns, the difference, and why it is there."""

from collections.abc import Sequence

from drlh.bench.records import Group, by_group
from drlh.bench.store import Record
from drlh.hashers.methods import find_method
from drlh.paper.published import published_curve, published_features, published_map, published_rows
from drlh.paper.tables import CNN_ROLES, PAPER_METHOD, TABLES, Row, Table
from drlh.report.grid import Grid, spread, with_published
from drlh.report.record_grids import LABELS_USED, is_plain, labels_used

COMPARED = ("traditional", "cnn", "deep")  # methods against each other
VARIED = ("eta", "steps", "actions", "ablation", "agent")  # DRLH against itself
_CURVES = {"eta": "eta", "steps": "max_steps"}  # tables with a curve in the paper, and the parameter on its axis
_DATA = {"cifar10": "CIFAR-10", "nuswide21": "NUS-WIDE"}
_NUSWIDE_FEATURES = 1134  # the width of those that come with NUS-WIDE
_RULES = (
    "In brackets: the paper's number, and ours minus it. The paper does not state its tie rule, divisor or number of "
    "runs; ours is the expectation over all orders of ties, divided by min(relevant, cut), on a split of our own "
    "for each seed. Rows with fewer seeds hold the first ones."
)
SECOND_SETTING = "The paper's curves are of its second setting, with more training images and other features."
_ABOVE = (
    "The paper's DRLH lies far above the topline, which is what ranking by a linear classifier's posteriors reaches on "
    "these features; ours passes it by little. The paper does not say which images it searches: where they are the "
    "training images alone (`cifar10-I-train`), ours comes near its numbers."
)


def paper_grids(name: str, records: Sequence[Record]) -> list[Grid]:
    """The table `name`, once for each group of records that belongs to it."""
    if name in COMPARED:
        return _compared(TABLES[name], records)
    return [_cnn_grid(records)] if name == "cnn-update" else _varied(TABLES[name], records)


def data_of(group: Group) -> str | None:
    """The paper's name of the data, if it is the paper's at all."""
    return next((data for data in _DATA if group.protocol.startswith(data)), None)


def belongs(group: Group, table: str) -> bool:
    """Whether a group's numbers are those of a table: setting I or II, features made by hand or by a network."""
    if data_of(group) is None or group.data.endswith(CNN_ROLES):
        return False
    named = group.features or group.data.lower()  # a file made elsewhere tells nothing but its name
    by_hand = group.n_features == _NUSWIDE_FEATURES or "gist" in named
    if table == "deep":
        return group.protocol.endswith("-II") and not by_hand
    return group.protocol.endswith(("-I", "-I-train")) and by_hand == (table == "traditional")


def _compared(table: Table, records: Sequence[Record]) -> list[Grid]:
    groups = {group: found for group, found in by_group(records).items() if belongs(group, table.name)}
    methods = {group: len({record["method"] for record in found}) for group, found in groups.items()}
    fullest = sorted(groups, key=lambda group: (group.protocol.endswith("-train"), -methods[group]))
    grids, shown = [], set[str | None]()
    for group in fullest:
        grids.append(_compared_grid(table, group, groups[group], data_of(group) not in shown))
        shown.add(data_of(group))
    missing = [data for data in _DATA if data not in {data_of(group) for group in groups}]
    return grids + [_missing_grid(table, data) for data in missing]


def _compared_grid(table: Table, group: Group, records: Sequence[Record], is_fullest: bool) -> Grid:
    """The fullest grid of a data set has all of the paper's rows; others, on other features, those that were run."""
    data = data_of(group) or ""
    plain = [record for record in records if is_plain(record)]
    bits = next(panel.bits for panel in table.panels if panel.protocol.startswith(data))
    named = {find_method(name.lower()).name: name for name in published_rows(table.name, data)}
    run = {record["method"] for record in plain if record["bits"]}
    others = run - named.keys()
    codes = sorted(others, key=lambda name: -_best(plain, name))
    listed = [(name, method) for method, name in named.items() if is_fullest or method in run]
    rows = [_compared_row(table, data, name, method, plain, bits) for name, method in listed]
    rows += [_compared_row(table, data, find_method(method).written, method, plain, bits) for method in codes]
    rows += [_changed_row(row, records, bits) for row in table.rows(bits[0]) if row.parameters]
    rows = [row for row in [*rows, *_reference_rows(plain, bits)] if row]
    notes = [f"Features: the paper's are {published_features(table.name, data)}; ours are `{group.source}`. {_RULES}"]
    notes += [_ABOVE] if (table.name, group.protocol) == ("traditional", "cifar10-I") else []
    notes += [LABELS_USED] if labels_used(records) else []
    title = f"{table.title}: {_DATA[data]}, {group.protocol}" + ("" if is_fullest else f", {group.source}")
    return Grid(title, ["method", *(f"{n} bits" for n in bits), "seeds"], rows, notes)


def _best(records: Sequence[Record], method: str) -> float:
    return float(max(record["map"] for record in records if record["method"] == method))


def _compared_row(
    table: Table, data: str, name: str, method: str, records: Sequence[Record], bits: Sequence[int]
) -> list[str]:
    found = [[record["map"] for record in records if (record["method"], record["bits"]) == (method, n)] for n in bits]
    cells = [with_published(values, published_map(table.name, data, name, n)) for values, n in zip(found, bits)]
    shown = find_method(method).written
    return [f"**{shown}**" if method == "drlh" else shown, *cells, str(max(map(len, found)) or "–")]


def _changed_row(row: Row, records: Sequence[Record], bits: Sequence[int]) -> list[str]:
    """A method with other parameters than its own; nothing where it was not run."""
    found = [[record["map"] for record in records if record["bits"] == n and is_row(record, row)] for n in bits]
    return [row.name, *map(spread, found), str(max(map(len, found)))] if any(found) else []


def _reference_rows(records: Sequence[Record], bits: Sequence[int]) -> list[list[str]]:
    """The ranking by posteriors and the classifier behind it: the same at every length."""
    lines = [record for record in records if not record["bits"]]
    rows = []
    for name, key in (("topline: posteriors, no code", "map"), ("accuracy of the classifier", "accuracy")):
        values = [record[key] for record in lines if key in record]
        if values:
            rows.append([name, *[spread(values)] * len(bits), str(len(values))])
    return rows


def _missing_grid(table: Table, data: str) -> Grid:
    bits = next(panel.bits for panel in table.panels if panel.protocol.startswith(data))
    rows = [_compared_row(table, data, name, name.lower(), [], bits) for name in published_rows(table.name, data)]
    panel = next(panel for panel in table.panels if panel.protocol.startswith(data))
    note = (
        f"Not run: {_DATA[data]} was not at hand. With it, `drlh bench paper --table {table.name} --data "
        f"{panel.role}=FILE` fills these columns. In brackets: the paper's numbers."
    )
    return Grid(f"{table.title}: {_DATA[data]}", ["method", *(f"{n} bits" for n in bits), "seeds"], rows, [note])


def _varied(table: Table, records: Sequence[Record]) -> list[Grid]:
    grids = []
    for group, found in by_group(records).items():
        lengths = sorted({record["bits"] for record in found if record["bits"]})
        values = {n: matching(found, table.rows(n), n) for n in lengths}
        used = [n for n in lengths if _compares(table, n, values[n])]
        if used:
            grids.append(_varied_grid(table, group, used, values))
    return grids or [_not_run(table)]


def _compares(table: Table, n_bits: int, values: Sequence[Sequence[float]]) -> bool:
    """Whether two rows or more were run, and not just the two agents as they are."""
    run = [row for row, some in zip(table.rows(n_bits), values) if some]
    return len(run) > 1 and any(row.parameters for row in run)


def _varied_grid(table: Table, group: Group, bits: Sequence[int], values: dict[int, list[list[float]]]) -> Grid:
    longest = max((table.rows(n) for n in bits), key=len)
    rows = []
    for place, row in enumerate(longest):
        found = [values[n][place] if place < len(values[n]) else [] for n in bits]
        if any(found):
            cells = [with_published(some, _on_curve(table, group, row, n)) for some, n in zip(found, bits)]
            rows.append([row.name, *cells])
    seeds = max(len(some) for n in bits for some in values[n])
    note = "One seed." if seeds == 1 else f"Mean over at most {seeds} seeds, the same for all rows of a length."
    note += f" {SECOND_SETTING} {_RULES}" if data_of(group) and table.name in _CURVES else ""
    return Grid(f"{table.title}: {group.title}", ["DRLH", *(f"{n} bits" for n in bits)], rows, [note])


def _not_run(table: Table) -> Grid:
    """What the paper reports, where there is no record to set beside it."""
    note = f"Not run: `drlh bench paper --table {table.name}` does."
    if table.name not in _CURVES:
        return Grid(table.title, [], [], [note])
    heads = [(data, n) for data in _DATA for n in (16, 32)]
    curves = [published_curve(table.name, data, n) for data, n in heads]
    places = sorted(set().union(*curves))
    rows = [[str(place), *(with_published([], curve.get(place)) for curve in curves)] for place in places]
    columns = [{"eta": "η", "steps": "M"}[table.name], *(f"{_DATA[data]}, {n} bits" for data, n in heads)]
    return Grid(table.title, columns, rows, [f"{note} In brackets: the paper's numbers."])


def matching(records: Sequence[Record], rows: Sequence[Row], n_bits: int) -> list[list[float]]:
    """mAPs of each row at a length, on the seeds that all rows with any have in common."""
    found = [{r["seed"]: r["map"] for r in records if r["bits"] == n_bits and is_row(r, row)} for row in rows]
    seeds = [set(values) for values in found if values]
    common = sorted(set.intersection(*seeds)) if seeds else []
    # Without a common seed there is no fair comparison, but what was run is still shown.
    return [[values[seed] for seed in (common or sorted(values)) if seed in values] for values in found]


def is_row(record: Record, row: Row) -> bool:
    """The quick form's fewer epochs of the paper's agent are the same row."""
    parameters = dict(record["parameters"])
    if record["method"] == PAPER_METHOD:
        parameters.pop("n_epochs", None)
    return record["method"] == row.method and parameters == dict(row.parameters)


def _on_curve(table: Table, group: Group, row: Row, n_bits: int) -> float | None:
    data = data_of(group)
    if data is None or table.name not in _CURVES:
        return None
    return published_curve(table.name, data, n_bits).get(row.parameters[_CURVES[table.name]])


def _cnn_grid(records: Sequence[Record]) -> Grid:
    found = [record for record in records if record["data"].endswith(CNN_ROLES)]
    bits = sorted({record["bits"] for record in found})
    names = dict(zip(CNN_ROLES, ("as it came", "taught to classify the training images", "learned with the codes")))
    if not found:
        return _not_run(TABLES["cnn-update"])
    rows = []
    for role, name in names.items():
        mine = [record for record in found if record["data"].endswith(role)]
        if mine:
            rows.append([name, *(spread([r["map"] for r in mine if r["bits"] == n]) for n in bits)])
    note = "The same network in all rows."
    return Grid(TABLES["cnn-update"].title, ["CNN", *(f"{n} bits" for n in bits)], rows, [note])
