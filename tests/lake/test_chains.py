"""The order in which the logs of data sets are applied; the server's own answers are in tests/live/lake."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from binx.lake.dataset.loaded_chains import LoadedChains
from binx.lake.dataset.manifests import Manifest, list_manifests, read_manifests
from binx.lake.place import LakeStore
from tests.lake.dataset import Log, write_export

TOLD = "written between old.000002 and old.000003"


def exported(folder: Path, *logs: tuple[str, int, int, int, str]) -> list[Manifest]:
    """Exports of logs, given as base name, number, begin, end and the next log's name (empty after STOP)."""
    manifests = []
    for base, number, begun, ended, following in logs:
        write_export(folder, Log(number, time=begun), base=base)
        (found,) = (
            one
            for one in read_manifests(LakeStore(str(folder)), list_manifests(LakeStore(str(folder))))
            if one.source.name == f"{base}.{number:06}"
        )
        source = replace(found.source, identity=str(begun))
        commit = datetime.fromtimestamp(begun, UTC).isoformat()
        manifests.append(replace(found, source=source, next=(following, ended), first_commit=commit))
    return manifests


@pytest.fixture
def renamed(tmp_path: Path) -> list[Manifest]:
    return exported(
        tmp_path,
        ("old", 1, 10, 20, "old.000002"),
        ("old", 2, 20, 30, ""),
        ("new", 8, 30, 40, "new.000009"),
        ("new", 9, 40, 50, ""),
        ("old", 3, 60, 70, "old.000004"),
    )


def order_of(manifests: Sequence[Sequence[Manifest]]) -> tuple[list[list[str]], list[str]]:
    """The logs by chain in their order, and what is told of them, after loads of so many logs each."""
    chains = LoadedChains()
    for listed in manifests:
        chains.assign(listed)
    order = chains.in_order(())
    logs = [[chains[name].called(number) for number in chains[name].numbers] for name in order]
    return logs, [loss.text for name in order for loss in chains.gaps(name)]


def test_logs_of_a_base_name_that_changed_and_changed_back_are_applied_in_turn(
    renamed: list[Manifest],
) -> None:
    in_turn = [["old.000001", "old.000002"], ["new.000008", "new.000009"], ["old.000003"]]
    for loads in ([renamed], [renamed[::-1]], [[one] for one in renamed], [[one, one] for one in renamed]):
        assert order_of(loads) == (in_turn, [])
    # The old name's first logs come last.
    assert order_of([renamed[2:], renamed[:2]]) == (in_turn, [])


def test_logs_of_another_name_that_come_too_late_to_be_applied_in_turn_are_reported(
    renamed: list[Manifest],
) -> None:
    _, told = order_of([[*renamed[:2], renamed[4]], renamed[2:4]])
    assert len(told) == 1
    assert TOLD in told[0]


def test_logs_that_are_missing_where_the_name_changes_are_reported(renamed: list[Manifest]) -> None:
    between, closing = "between old.000001 and old.000003", "the log old.000002 of 97:old was never exported"
    told = order_of([[renamed[0], *renamed[2:]]])[1]
    assert [between in told[1], closing in told[0], len(told)] == [True, True, 2]
    assert closing in order_of([[renamed[0], *renamed[2:4]]])[1][0]
    assert "the log new.000009 of 97:new was" in order_of([[*renamed[:3], renamed[4]]])[1][0]


def test_servers_of_one_id_that_log_side_by_side_keep_one_chain_each(tmp_path: Path) -> None:
    manifests = exported(
        tmp_path,
        ("a", 1, 10, 30, ""),
        ("b", 1, 15, 35, "b.000002"),
        ("a", 2, 33, 50, "a.000003"),
        ("b", 2, 35, 60, "b.000003"),
        ("a", 3, 50, 70, "a.000004"),
    )
    chains = [["a.000001", "a.000002", "a.000003"], ["b.000001", "b.000002"]]
    assert order_of([manifests]) == order_of([[one] for one in manifests]) == (chains, [])


def begins_of(loads: Sequence[Sequence[Manifest]]) -> list[list[int]]:
    """When the logs of each chain begin."""
    chains = LoadedChains()
    for listed in loads:
        chains.assign(listed)
    return [
        [chains[name].logs[number].time for number in chains[name].numbers] for name in chains.in_order(())
    ]


@pytest.mark.parametrize("closed", [True, False])
def test_logs_whose_numbers_began_anew_are_none_of_those_before(tmp_path: Path, closed: bool) -> None:
    """As after RESET MASTER: the last log of before was open when it was exported, or not exported at all."""
    old = exported(tmp_path, ("a", 1, 10, 20, "a.000002"), ("a", 2, 20, 30, "a.000003"))
    old[1] = old[1] if closed else replace(old[1], next=None)
    new = exported(tmp_path, *(("a", n, 40 + 10 * n, 50 + 10 * n, f"a.{n + 1:06}") for n in range(1, 5)))
    for loads in ([old, new], [[*new, *old]], [[one] for one in (*old, *new)]):
        assert begins_of(loads) == [[10, 20], [50, 60, 70, 80]]


def test_logs_of_an_unrelated_server_of_the_same_id_and_name_do_not_split_a_chain(tmp_path: Path) -> None:
    own = exported(tmp_path / "own", *(("a", n, 10 * n, 10 * n + 10, f"a.{n + 1:06}") for n in range(1, 6)))
    others = [("a", 2, 15, 25, "a.000003"), ("a", 3, 25, 38, "a.000004"), ("a", 4, 38, 49, "")]
    foreign = exported(tmp_path / "other", *others)
    for loads in ([[*own, *foreign]], [foreign, own], [own, foreign], [[one] for one in (*own, *foreign)]):
        assert begins_of(loads) == [[10, 20, 30, 40, 50], [15, 25, 38]]
