"""The state of a folder of pulled logs: their servers, and the progress of the pull.

It is stored in the folder's ``pull.json``. A chain is a run of logs of one server that continue each other;
the first chain's logs are in the folder itself, those of each later one in a subfolder ``chain-N``.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from binx.errors import AbsentError, DamagedError, RefusedError
from binx.pull.server import ServerFacts
from binx.storage.contracts import Contract
from binx.storage.locking import held_since
from binx.storage.output import open_output

STATE = "pull.json"
LOCK = ".pull.lock"


def _renamed(document: dict[str, Any]) -> dict[str, Any]:
    """Bring a document of contract 1 to the names of reports."""
    status = dict(document["status"])
    acknowledged = status.get("acknowledged")
    for old, new in (("log", "file"), ("committed", "commit_timestamp")):
        if old in status:
            status[new] = status.pop(old)
    if acknowledged:
        status["acknowledged"] = {"file": acknowledged["log"], "position": acknowledged["position"]}
    chains = []
    for chain in document["chains"]:
        first, missing = chain.pop("first"), chain.pop("missing", "")
        chains.append(chain | {"first_file": first, "missing_gtids": missing})
    return document | {"status": status, "chains": chains}


CONTRACT = Contract(2, again="pull into another folder", steps={1: _renamed})


@dataclass(frozen=True, slots=True)
class PulledChain:
    """A run of logs of one server.

    Attributes:
        folder: the subfolder of the pull's folder; empty for the folder itself.
        first_file: the name of its first log.
        begun: its start time in RFC 3339.
        missing_gtids: GTIDs that its first log lists as logged before it and that the chain before it lacks.
    """

    folder: str
    first_file: str
    flavour: str
    server_uuid: str
    server_id: int
    server_version: str
    begun: str
    missing_gtids: str = ""

    @classmethod
    def of(cls, facts: ServerFacts, number: int, first: str) -> PulledChain:
        """Return a chain that begins now, after that many others."""
        return cls(
            f"chain-{number + 1}" if number else "",
            first,
            facts.flavour.value,
            facts.uuid,
            facts.server_id,
            facts.version,
            now_text(),
        )

    def is_of(self, facts: ServerFacts) -> bool:
        """Whether the logs are from this server."""
        return (self.flavour, self.server_uuid, self.server_id) == (
            facts.flavour.value,
            facts.uuid,
            facts.server_id,
        )

    def refuse(self, facts: ServerFacts, server: str) -> RefusedError:
        """Return the error for a different server."""

        def named(flavour: str, uuid: str, server_id: int) -> str:
            return f"{flavour} server {server_id}{f' ({uuid})' if uuid else ''}"

        return RefusedError(
            f"expected {named(self.flavour, self.server_uuid, self.server_id)}, whose logs are here, found"
            f" {named(facts.flavour.value, facts.uuid, facts.server_id)}; pull its logs into a new chain with"
            " --new-chain, or where the other failed over to it, with --from-gtid auto",
            path=server,
        )


@dataclass(slots=True)
class PullState:
    """The chains of a folder, the current one, and the progress of the last pull."""

    chains: list[PulledChain] = field(default_factory=list)
    status: dict[str, Any] = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        """Write the state atomically and sync it to disk."""
        document = {
            "contract": CONTRACT.number,
            "chains": [asdict(chain) for chain in self.chains],
            "status": self.status,
        }
        with open_output(str(folder / STATE), binary=False) as output:
            output.write(json.dumps(document, indent=1).encode() + b"\n")


def read_state(folder: Path) -> PullState | None:
    """Return the state of a folder; None if nothing was pulled there."""
    path = folder / STATE
    try:
        document = CONTRACT.migrated(json.loads(path.read_bytes()), str(path))
        return PullState([PulledChain(**chain) for chain in document["chains"]], dict(document["status"]))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise DamagedError(
            f"expected the state of a pull, found something else ({error})", path=str(path)
        ) from error


def read_status(folder: Path) -> dict[str, Any]:
    """Return a folder's state for reports, and whether a pull is running."""
    state = read_state(folder)
    if state is None:
        raise AbsentError(
            "expected a folder that logs were pulled into, found none; check the path", path=str(folder)
        )
    return {
        "running": held_since(folder / LOCK) is not None,
        **state.status,
        "chains": state.chains,
    }


def now_text() -> str:
    """Return the current time in RFC 3339."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
