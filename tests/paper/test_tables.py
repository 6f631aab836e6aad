"""The definitions: every row can be run, and lengths are the paper's."""

import pytest

from drlh.bench.cells import changed_parameters
from drlh.core.errors import UserError
from drlh.evaluate.protocols import get_protocol
from drlh.hashers.methods import is_reference, make_hasher, make_reference
from drlh.paper.published import published_map
from drlh.paper.sources import ROLES
from drlh.paper.tables import CNN_ROLES, TABLES, Table, find_tables


@pytest.mark.parametrize("table", TABLES.values(), ids=lambda table: table.name)
def test_every_row_is_a_method_that_takes_its_parameters(table: Table) -> None:
    for panel in (*table.panels, *table.quick):
        get_protocol(panel.protocol)
        assert panel.role in (*ROLES, *CNN_ROLES)
        for n_bits in panel.bits:
            rows = table.rows(n_bits)
            assert len({row.name for row in rows}) == len(rows)
            for row in rows:
                if is_reference(row.method):
                    make_reference(row.method, **row.parameters)
                else:
                    make_hasher(row.method, n_bits, **row.parameters)


def test_the_lengths_of_the_compared_tables_are_the_papers() -> None:
    for name in ("traditional", "cnn", "deep"):
        for panel in TABLES[name].panels:
            data = panel.protocol.partition("-")[0]
            assert all(published_map(name, data, "DRLH", n_bits) for n_bits in panel.bits)


def test_a_method_stands_in_a_table_once() -> None:
    for name in ("traditional", "cnn", "deep"):
        methods = [row.method for row in TABLES[name].rows(16) if not row.parameters]
        assert len(set(methods)) == len(methods)
        assert {"drlh", "drlh-paper", "topline", "graded"} <= set(methods)


def test_tables_are_found_by_name_and_mistakes_told() -> None:
    assert [table.name for table in find_tables("eta, steps")] == ["eta", "steps"]
    assert len(find_tables("all")) == len(TABLES)
    for names in ("etta", ""):
        with pytest.raises(UserError, match="ablation"):
            find_tables(names)


@pytest.mark.parametrize("table", TABLES.values(), ids=lambda table: table.name)
def test_no_row_gives_a_parameter_its_default_value(table: Table) -> None:
    # Records hold what differs from the defaults: such a row would not find its own.
    for n_bits in (16, 32):
        for row in table.rows(n_bits):
            assert changed_parameters(row.method, row.parameters) == row.parameters
