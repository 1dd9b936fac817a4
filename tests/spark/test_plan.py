"""Which files are read, which may repeat rows, and whose chain they belong to."""

from __future__ import annotations

from binx.spark.loading.chains import Chains
from binx.spark.loading.manifests import DataFile, Manifest, Source, TableName
from binx.spark.loading.plan import TablePlan, Taken, plan_tables
from binx.spark.loading.storage import LocalStorage

ORDERS = TableName("shop", "orders")
NOWHERE = LocalStorage("/nowhere")


def source(number: int, *, identity: str = "aa", time: int | None = None, server: int = 1) -> Source:
    begun = number * 10 if time is None else time
    return Source(f"bin.{number:06}", identity, "bin", number, server, begun)


def manifest(
    of: Source,
    *ranges: tuple[int, int],
    content: str = "",
    first_commit: str = "",
    cover: tuple[int, int] | None = None,
) -> Manifest:
    files = tuple(
        DataFile(
            NOWHERE, f"{of.key}{first}", "changes", ORDERS, "v", 10, f"{content}{first}-{last}", first, last
        )
        for first, last in ranges
    )
    return Manifest(f"{of.key}.json", f"{of.key}{content}", of, first_commit, files, (), cover)


def plan(manifests: list[Manifest], taken: list[Taken] | None = None) -> TablePlan:
    chains = Chains().assign(manifests)
    return plan_tables(manifests, chains, {ORDERS: taken or []})[ORDERS]


def firsts(planned: TablePlan) -> tuple[list[int], list[int]]:
    return (
        sorted(one.file.first for one in planned.distinct),
        sorted(one.file.first for one in planned.overlapping),
    )


def test_files_whose_ranges_do_not_touch_are_taken_as_they_are() -> None:
    planned = plan([manifest(source(1), (1, 5), (6, 9)), manifest(source(2), (20, 29))])
    assert firsts(planned) == ([1, 6, 20], [])


def test_pieces_of_one_transaction_in_one_export_are_no_repetition() -> None:
    assert firsts(plan([manifest(source(1), (1, 5), (5, 5), (5, 9))])) == ([1, 5, 5], [])


def test_only_the_files_that_overlap_another_export_are_compared() -> None:
    again = manifest(source(1), (4, 7), content="again")
    assert firsts(plan([manifest(source(1), (1, 5), (6, 9), (10, 12)), again])) == ([10], [1, 4, 6])


def clipped(planned: TablePlan) -> dict[tuple[int, int], tuple[tuple[int, int], ...] | None]:
    return {(one.file.first, one.file.last): one.spans for one in planned.clipped}


def test_of_whole_exports_each_span_is_read_from_one() -> None:
    early = manifest(source(1), (2, 5), (10, 12), cover=(1, 20))
    late = manifest(source(1), (4, 7), (22, 30), content="late", cover=(4, 31))
    planned = plan([early, late])
    assert firsts(planned) == ([10, 22], [])
    assert clipped(planned) == {(2, 5): ((1, 20),), (4, 7): ((21, 31),)}
    inner = manifest(source(1), (3, 4), content="inner", cover=(3, 4))
    planned = plan([early, late, inner])
    assert clipped(planned)[3, 4] == ()
    assert not planned.is_repeated


def test_a_log_that_grew_is_read_from_where_the_earlier_run_ended() -> None:
    taken = [Taken("1:bin", "old", 2, 8, (1, 9)), Taken("1:bin", "other", 11, 12, (11, 12))]
    planned = plan([manifest(source(1), (2, 15), cover=(1, 16))], taken)
    assert clipped(planned) == {(2, 15): ((10, 10), (13, 16))}
    assert plan([manifest(source(1), (2, 8), cover=(1, 9))], taken).is_repeated


def test_an_export_that_may_lack_transactions_is_compared() -> None:
    taken = [Taken("1:bin", "old", 2, 8, None)]
    assert firsts(plan([manifest(source(1), (2, 15), cover=(1, 16))], taken)) == ([], [2])


def test_a_copy_of_a_file_is_not_read() -> None:
    first = manifest(source(1), (1, 5))
    copy = Manifest("copy", "other", first.source, "", first.files, ())
    planned = plan([first, copy])
    assert (firsts(planned), planned.repeated) == (([1], []), 10)


def test_files_of_earlier_runs_are_known_and_new_ones_are_compared_with_them() -> None:
    taken = [Taken("1:bin", "1-5", 1, 5), Taken("1:bin", "6-7", 6, 7)]
    planned = plan([manifest(source(1), (1, 5), (6, 9), (10, 12))], taken)
    assert (firsts(planned), planned.known) == (([10], [6]), 10)


def test_a_numbering_that_began_anew_is_another_chain_in_whatever_order_logs_come() -> None:
    old = [manifest(source(number, identity="aa"), first_commit="2026-01-01") for number in (1, 2, 3)]
    new = [manifest(source(n, identity="bb", time=100 + n), first_commit="2026-02-01") for n in (1, 2)]
    chains = Chains()
    first = chains.assign([*new, old[2]])
    again = Chains.from_json(chains.to_json())
    later = again.assign([*old, *new])
    assert first["bin.000001.bb"] == first["bin.000002.bb"] == later["bin.000002.bb"]
    assert later["bin.000001.aa"] == later["bin.000003.aa"] == first["bin.000003.aa"]
    assert later["bin.000001.aa"] != later["bin.000001.bb"]


def test_chains_are_ranked_by_their_first_commit_or_as_asked() -> None:
    chains = Chains()
    chains.assign([
        manifest(source(1, server=1), first_commit="2026-02-01"),
        manifest(source(1, server=2), first_commit="2026-01-01"),
    ])  # fmt: skip
    assert chains.ranks([]) == {"2:bin": 0, "1:bin": 1}
    assert chains.ranks(["1"]) == {"1:bin": 0, "2:bin": 1}
