"""Options for writing a data set."""

from __future__ import annotations

import os
import resource
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

from binx.log.scanning import OnDamage
from binx.rows.decoder import DecoderOptions

if TYPE_CHECKING:
    from binx.dataset.personal.rules import PersonalData
    from binx.where.condition import Condition

DEFAULT_ZSTD_LEVEL = 1
"""Level 3 takes 25 to 33 % longer, for files at most 6 % smaller."""


class StatementTexts(Enum):
    """How much of the logged statement texts of row changes to keep; these texts contain row values."""

    NONE = "none"
    DIGEST = "digest"
    """The normalized statement, without values."""
    TEXT = "text"


class ParquetOptions(NamedTuple):
    """Options for writing a data set.

    Attributes:
        compression_level: for zstd; None for :data:`DEFAULT_ZSTD_LEVEL`.
        jobs: number of threads. With more than one, a log is decoded by one thread and its files are written
            by another, so that every two threads take another log at a time. None for the number of
            processors, but at most two, because each log takes memory. The output is the same.
        where: a condition; only matching row changes are written, and the transactions that have any.
        where_limit: maximum number of transactions with matching row changes.
        personal: rules about personal data.
        allows_unmatched_rules: whether a log is committed if a table has no column for its rule.
    """

    compression: str = "zstd"
    compression_level: int | None = None
    decoder: DecoderOptions = DecoderOptions()
    verify: bool = True
    force: bool = False
    jobs: int | None = None
    on_damage: OnDamage = OnDamage.STOP
    where: Condition | None = None
    where_limit: int | None = None
    personal: PersonalData | None = None
    allows_unmatched_rules: bool = False
    statements: StatementTexts = StatementTexts.NONE

    def facts(self) -> dict[str, Any]:
        """Return the options that determine the bytes written, for the manifest."""
        salvages = self.on_damage is OnDamage.SALVAGE
        return {
            **({"on_damage": self.on_damage.value} if salvages else {}),
            **({} if self.where is None else {"where": self.where.text, "limit": self.where_limit}),
            **({} if self.personal is None else self.personal.facts()),
            **({} if self.statements is StatementTexts.NONE else {"statements": self.statements.value}),
            "compression": self.compression,
            "compression_level": self.level,
            "row_group_rows": self.decoder.row_group_rows,
            "memory": self.decoder.memory,
            "unsigned_bigint": "decimal" if self.decoder.arrow.unsigned_as_decimal else "uint64",
        }

    @property
    def level(self) -> int | None:
        """The compression level; None if the codec has none."""
        if self.compression != "zstd":
            return None
        return DEFAULT_ZSTD_LEVEL if self.compression_level is None else self.compression_level

    @property
    def jobs_here(self) -> int:
        """Number of threads on this machine.

        By default one where addresses are limited (``ulimit -v``): each thread takes many, and one of Arrow's
        that gets none ends the process.
        """
        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        is_narrow = limit != resource.RLIM_INFINITY and limit < _DEFAULT_JOBS * _ADDRESSES
        return self.jobs or (1 if is_narrow else min(_DEFAULT_JOBS, usable_processors()))


_DEFAULT_JOBS = 2
_ADDRESSES = 1 << 30


def usable_processors() -> int:
    """Return the number of processors this process may run on."""
    # Not all platforms report a process's CPU affinity; without it, count all processors.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
