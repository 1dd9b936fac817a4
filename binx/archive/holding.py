"""What an archive holds, as far as a run has to know: of an archive of years, a run reads few manifests."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from binx.archive.manifest import ArchivedLog, find_log, manifest_names, object_names, read_manifests, stem_of
from binx.errors import BinxError
from binx.log.chain.ends import FileEnds
from binx.source.names import ENCRYPTION_SUFFIX, own_name
from binx.storage.store import Store


@dataclass(frozen=True, slots=True)
class Holding:
    """What an archive holds.

    Attributes:
        logs: those whose manifests were read and whose objects are there; a run adds to them.
        lost: those that lack an object.
        errors: why a manifest cannot be read.
        others: logs whose manifests did not have to be read.
    """

    logs: list[ArchivedLog]
    lost: list[ArchivedLog]
    errors: list[BinxError]
    others: int

    def lost_for_good(self, pending: Sequence[FileEnds]) -> list[ArchivedLog]:
        """The logs that lack an object and were not archived anew, and are none of those that wait for it.

        Raises:
            SourceError, DamagedError: a log that waits cannot be read.
        """
        again = [find_log(self.lost, ends.file) for ends in pending] if self.lost else []
        anew = {log.stem for log in (*self.logs, *again) if log is not None}
        return [log for log in self.lost if log.stem not in anew]


def look_up(store: Store, names: Collection[str] | None) -> Holding:
    """Find out what an archive holds.

    Args:
        store: the archive.
        names: of the logs whose manifests are wanted, beside those that lack their compressed log; None for
            all.

    Raises:
        SourceError: the archive cannot be read.
        UnsupportedError: a newer binx has written to it.
    """
    stored = set(store.names())
    found = manifest_names(store)
    wanted = [name for name in found if names is None or _is_wanted(stem_of(name), names, stored)]
    read, errors = read_manifests(store, wanted)
    logs: list[ArchivedLog] = []
    lost: list[ArchivedLog] = []
    for log in read:
        (logs if all(one.path in stored for one in log.objects) else lost).append(log)
    return Holding(logs, lost, errors, len(found) - len(wanted))


def _is_wanted(stem: str, names: Collection[str], stored: Collection[str]) -> bool:
    if own_name(stem) in names:
        return True
    log, _ = object_names(stem)
    return log not in stored and f"{log}{ENCRYPTION_SUFFIX}" not in stored
