"""Two servers' logs compared: what one lacks, what neither will get by waiting, what is otherwise."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from pathlib import Path

import pytest

from binx.compare.diff import LogDiff, diff_logs
from binx.errors import RefusedError
from binx.event.gtid.sets import GtidSet
from binx.log.chain.inputs import open_chain
from binx.log.selection.selection import Selection
from binx.slices.extract import extract

TESTDATA = Path(__file__).resolve().parents[2] / "testdata"
MYSQL, MARIADB = TESTDATA / "mysql-9.7", TESTDATA / "mariadb-10.11"
SERVERS = [MYSQL, MARIADB]


def shop(folder: Path) -> list[str]:
    return [str(path) for path in sorted((folder / "shop").glob("mysql-bin.0*"))]


def diff(left: Sequence[str | Path], right: Sequence[str | Path], *, contents: bool = True) -> LogDiff:
    with open_chain(list(map(str, left))) as ours, open_chain(list(map(str, right))) as theirs:
        return diff_logs(ours, theirs, Selection(), contents=contents)


def without(paths: Sequence[str], gtids: str, target: Path) -> Path:
    """A log that lacks some transactions; its bytes are otherwise than those of the logs it is made of."""
    with open_chain(paths) as chain:
        extract(chain, Selection(exclude_gtids=GtidSet.parse(gtids)), str(target))
    return target


def youngest(found: LogDiff) -> str:
    source, _, last = list(found.left.gtids)[-1]
    return str(GtidSet([(source, last, last)]))


@pytest.mark.parametrize("folder", SERVERS, ids=lambda folder: folder.name)
def test_the_same_transactions_in_other_bytes_are_the_same(folder: Path, tmp_path: Path) -> None:
    again = without(shop(folder), "00000000-0000-0000-0000-000000000001:1", tmp_path / "mysql-bin.000001")
    found = diff(shop(folder), [again])
    assert found.equal
    assert found.common == found.left.gtids.count == found.right.transactions
    assert found.left.gtids == found.right.gtids


@pytest.mark.parametrize("folder", SERVERS, ids=lambda folder: folder.name)
@pytest.mark.parametrize("contents", [True, False])
def test_what_one_side_lacks(folder: Path, contents: bool, tmp_path: Path) -> None:
    last = youngest(diff(shop(folder), shop(folder), contents=False))
    middle = last.replace(last.replace("-", ":").rpartition(":")[2], "700")
    lacking = without(shop(folder), f"{middle},{last}", tmp_path / "mysql-bin.000001")
    found = diff(shop(folder), [lacking], contents=contents)
    assert found.only_left.gtids == GtidSet.parse(f"{middle},{last}")
    assert found.only_right.gtids.is_empty
    assert found.only_left.errant == GtidSet.parse(middle), "the youngest may still come"
    assert not found.equal
    turned = diff([lacking], shop(folder), contents=contents)
    assert (turned.only_right.gtids, turned.only_right.errant) == (
        found.only_left.gtids,
        found.only_left.errant,
    )


@pytest.mark.parametrize("folder", SERVERS, ids=lambda folder: folder.name)
def test_what_stands_before_the_first_log_is_not_lacking(folder: Path) -> None:
    found = diff(shop(folder), shop(folder)[1:])
    assert found.only_left.gtids.is_empty
    assert found.equal
    assert 0 < found.common < found.left.gtids.count


def test_transactions_of_an_unknown_server_are_errant(tmp_path: Path) -> None:
    other = MYSQL / "small" / "xa.binlog"
    found = diff(shop(MYSQL), [other])
    assert found.common == 0
    assert found.only_right.errant == found.only_right.gtids == found.right.gtids


def test_the_first_transactions_of_a_tag_may_still_come(tmp_path: Path) -> None:
    log = MYSQL / "small" / "tagged_gtids.binlog"
    before = tmp_path / "before"
    with open_chain([str(log)]) as chain:
        extract(chain, Selection(limit=1), str(before))
    found = diff([log], [before])
    own = found.right.gtids
    (server,) = {str(source) for source, _, _ in own}
    lacking = {str(source) for source, _, _ in found.only_left.gtids if str(source).startswith(server)}
    assert lacking == {server, f"{server}:nightly_batch", f"{server}:_x123456789012345678901234567890"}
    assert all(not str(source).startswith(server) for source, _, _ in found.only_left.errant)


def altered(path: Path, old: bytes, new: bytes, target: Path) -> Path:
    """A log in which the bytes of a value are others, with the checksum that belongs to them."""
    data = bytearray(path.read_bytes())
    assert data.count(old) == 1
    assert len(old) == len(new)
    at = data.index(old)
    data[at : at + len(old)] = new
    position = 4
    while position < len(data):
        size = int.from_bytes(data[position + 9 : position + 13], "little")
        if position < at < position + size:
            crc = zlib.crc32(data[position : position + size - 4])
            data[position + size - 4 : position + size] = crc.to_bytes(4, "little")
        position += size
    target.write_bytes(data)
    return target


def test_another_value_in_a_row_is_found(tmp_path: Path) -> None:
    path = MYSQL / "small" / "xa.binlog"
    other = altered(path, b"in between", b"IN BETWEEN", tmp_path / "xa.binlog")
    found = diff([path], [other])
    assert not found.equal
    assert found.common == found.left.transactions
    (difference,) = found.differences
    assert found.different == GtidSet.parse(difference.gtid)
    (pair,) = difference.pairs
    assert pair.left is not None
    assert pair.right is not None
    assert [one.shown["after"]["text"] for one in (pair.left, pair.right)] == ["in between", "IN BETWEEN"]
    assert pair.left.key == ("id",)
    assert diff([path], [other], contents=False).equal


def test_another_statement_is_found(tmp_path: Path) -> None:
    path = MYSQL / "small" / "savepoints.binlog"
    other = altered(path, b"(11, 'BEGIN')", b"(12, 'BEGIN')", tmp_path / "savepoints.binlog")
    (difference,) = diff([path], [other]).differences
    changes = [change for pair in difference.pairs for change in (pair.left, pair.right)]
    assert [None if one is None else one.shown["type"] for one in changes] == ["statement", "statement"]


@pytest.mark.parametrize("folder", SERVERS, ids=lambda folder: folder.name)
def test_what_a_log_begins_behind_is_perhaps_purged_and_not_errant(folder: Path, tmp_path: Path) -> None:
    (source, first, _), *_ = diff(shop(folder), shop(folder), contents=False).left.gtids
    before = GtidSet([(source, first, first + 99)])
    later = without(shop(folder), str(before), tmp_path / "mysql-bin.000001")
    found = diff(shop(folder), [later], contents=False)
    assert (found.only_left.gtids, found.only_left.purged) == (before, before)
    assert found.only_left.errant.is_empty
    with open_chain(shop(folder)) as ours, open_chain([str(later)]) as theirs:
        told = diff_logs(ours, theirs, Selection(), purged=(GtidSet(), before))
    assert told.only_left.gtids.is_empty
    assert told.equal


def test_logs_without_gtids_are_refused() -> None:
    path = MYSQL / "small" / "anonymous_gtids.binlog"
    with pytest.raises(RefusedError, match="no transactions with GTIDs"):
        diff([path], [path])


def test_only_so_many_are_looked_into() -> None:
    with open_chain([str(MYSQL / "small" / "xa.binlog")]) as chain:
        found = diff_logs(chain, chain, Selection(), most=1)
    assert found.differences == ()


def test_rows_are_compared_whose_times_have_fractions_that_a_definition_alone_tells(tmp_path: Path) -> None:
    log = str(MARIADB / "small" / "times_with_fractions.binlog")
    found = diff([log], [without([log], "0-10-99", tmp_path / "mysql-bin.000001")])
    assert found.equal
    assert found.whole
