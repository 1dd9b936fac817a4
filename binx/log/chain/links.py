"""Which log follows which, and which logs are of one chain though nothing links them.

Two logs of one server id and of consecutive names are linked. Where the ids differ, something else must say
that it is one server: an index that lists both, a folder in which no other log has their names, ROTATE
written when the other log was begun, or GTIDs that both know of.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise

from binx.event.gtid.sets import GtidSet
from binx.event.gtid.sources import DomainSource
from binx.log.chain.ends import FileEnds
from binx.source.names import has_archive_tag, is_named_next

_ROTATION_SECONDS = 2
"""A server writes ROTATE and begins the next log in one step."""

Run = list[FileEnds]
"""Logs, each of which is linked to the next."""


def ends_follow(before: FileEnds, after: FileEnds) -> bool:
    """Whether a log's name is the one that must come next."""
    if before.next_file is not None:
        return is_named_next(before.next_file, before.file.name, after.file.name)
    return before.base == after.base and after.file.file_number == before.file.file_number + 1


def lost_gtids(before: FileEnds, after: FileEnds) -> str:
    """What was there before the earlier log and is not there before the later one."""
    if before.previous_gtids is not None and after.previous_gtids is not None:
        return str(before.previous_gtids - after.previous_gtids)
    if before.gtid_list is None or after.gtid_list is None:
        return ""
    known = {(entry.domain, entry.server_id): entry.sequence for entry in after.gtid_list}
    lost = [one for one in before.gtid_list if known.get((one.domain, one.server_id), -1) < one.sequence]
    return ", ".join(map(str, lost))


def listed_before(ends: FileEnds) -> GtidSet | None:
    """The GTIDs that a log says were logged before it; of MariaDB's the last of each domain and server."""
    if ends.previous_gtids is not None or ends.gtid_list is None:
        return ends.previous_gtids
    return GtidSet((source, number, number) for source, number in _last_numbers(ends).items())


def gtid_differences(before: FileEnds, content: GtidSet, after: FileEnds) -> tuple[GtidSet, GtidSet] | None:
    """Hold what a log says was before it against what was there.

    Args:
        before: the log before.
        content: the GTIDs of its whole transactions.
        after: the log.

    Returns:
        What the log lists and was not there, and what was there and it does not list; None where logs do not
        say.
    """
    if before.previous_gtids is not None and after.previous_gtids is not None:
        held = before.previous_gtids | content
        return after.previous_gtids - held, held - after.previous_gtids
    if before.gtid_list is None or after.gtid_list is None:
        return None
    # MariaDB's lists have the last number of each domain and server.
    reached = _last_numbers(before)
    for source, _, last in content:
        if isinstance(source, DomainSource):
            reached[source] = max(reached.get(source, 0), last)
    listed = _last_numbers(after)
    lost = [
        (source, reached.get(source, 0) + 1, number)
        for source, number in listed.items()
        if number > reached.get(source, 0)
    ]
    unknown = [
        (source, listed.get(source, 0) + 1, number)
        for source, number in reached.items()
        if number > listed.get(source, 0)
    ]
    return GtidSet(lost), GtidSet(unknown)


def _last_numbers(ends: FileEnds) -> dict[DomainSource, int]:
    return {DomainSource(one.domain, one.server_id): one.sequence for one in ends.gtid_list or ()}


def chains_of(ends: Sequence[FileEnds]) -> list[list[Run]]:
    """The chains that logs are of, each as its runs in the order of their numbers."""
    places = _Places(ends)
    return _joined(_linked(ends, places), places)


def _linked(ends: Sequence[FileEnds], places: _Places) -> list[Run]:
    """Link logs by their names: first those of one server id, then what they leave."""
    ordered = sorted(ends, key=lambda one: (one.file.file_number, one.begun, one.file.path))
    by_name: dict[tuple[str, int], list[FileEnds]] = {}
    for one in ordered:
        by_name.setdefault((one.base, one.file.file_number), []).append(one)
    followers: dict[int, FileEnds] = {}
    linked: set[int] = set()

    def link(may_follow: Callable[[FileEnds, FileEnds], bool]) -> None:
        for one in ordered:
            if id(one) in followers:
                continue
            fitting = [
                other
                for other in by_name.get((one.base, one.file.file_number + 1), ())
                if id(other) not in linked and may_follow(one, other)
            ]
            if fitting:
                nearest = min(
                    fitting, key=lambda other: (other.begun < one.begun, abs(other.begun - one.begun))
                )
                followers[id(one)] = nearest
                linked.add(id(nearest))

    link(lambda before, after: before.server == after.server and _can_follow(before, after))
    link(lambda before, after: _can_follow(before, after) and _is_witnessed(before, after, places))
    runs: list[Run] = []
    for one in ordered:
        if id(one) not in linked:
            run = [one]
            while (follower := followers.get(id(run[-1]))) is not None:
                run.append(follower)
            runs.append(run)
    return runs


def _joined(runs: Sequence[Run], places: _Places) -> list[list[Run]]:
    """The runs of each chain: those of one server id or index, or that follow each other in one folder."""
    leaders = list(range(len(runs)))

    def leader(number: int) -> int:
        while leaders[number] != number:
            number = leaders[number]
        return number

    firsts: dict[object, int] = {}
    by_folder: dict[object, list[int]] = {}
    for number, run in enumerate(runs):
        indexes = {one.file.listed.index_path for one in run if one.file.listed is not None}
        for shared in ({one.server for one in run}, indexes):
            for key in shared:
                leaders[leader(firsts.setdefault(key, number))] = leader(number)
        if (folder := places.of(run[0])) is not None:
            by_folder.setdefault(folder, []).append(number)
    for numbers in by_folder.values():
        for before, after in pairwise(numbers):
            if _may_come_later(runs[before][-1], runs[after][0]):
                leaders[leader(before)] = leader(after)
    chains: dict[int, list[Run]] = {}
    for number, run in enumerate(runs):
        chains.setdefault(leader(number), []).append(run)
    return list(chains.values())


class _Places:
    """Where logs are, as far as all that are there are of one server."""

    def __init__(self, ends: Sequence[FileEnds]) -> None:
        self._logs = Counter((self._folder(one), one.base, one.file.file_number) for one in ends)
        self._shared = {(folder, base) for (folder, base, _), count in self._logs.items() if count > 1}

    def of(self, one: FileEnds) -> object | None:
        """What is the same for logs of one place; None where a log's place says nothing."""
        if one.file.listed is not None:
            return one.file.listed.index_path
        folder = self._folder(one)
        return None if folder is None or (folder, one.base) in self._shared else (folder, one.base)

    @staticmethod
    def _folder(one: FileEnds) -> str | None:
        """An archive has the logs of many servers in one folder, and tells so by their names."""
        if has_archive_tag(one.file.path) or not one.file.file_number:
            return None
        return one.file.path.rpartition("/")[0]


def _can_follow(before: FileEnds, after: FileEnds) -> bool:
    return ends_follow(before, after) and not lost_gtids(before, after)


def _may_come_later(before: FileEnds, after: FileEnds) -> bool:
    """Whether neither times nor GTIDs speak against a later log."""
    written = before.begun if before.ended is None else before.ended
    return after.begun >= written and not lost_gtids(before, after)


def _is_witnessed(before: FileEnds, after: FileEnds, places: _Places) -> bool:
    """Whether anything but names says that a log of another server id is the next one."""
    if not _may_come_later(before, after):
        return False
    place = places.of(before)
    if place is not None and place == places.of(after):
        return True
    if before.next_file is not None and before.ended is not None:
        return after.begun - before.ended <= _ROTATION_SECONDS
    return bool(before.previous_gtids and after.previous_gtids) or bool(before.gtid_list and after.gtid_list)
