"""Random workloads on live servers: Parquet = SELECT, binx = the servers' readers, replay = the same tables.

``make test-live SEED=… ROUNDS=…`` runs as many rounds as asked and prints the seed of each, which alone
decides its workload. Without ROUNDS, as among all tests, there is one short round that is always the same.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path

import pytest

from testdata.servers import Server
from tests.live.rounds import Round

ROUNDS = int(os.environ.get("ROUNDS") or 0)
SEED = os.environ.get("SEED") or (secrets.token_hex(3) if ROUNDS else "short")
SESSIONS = 60 if ROUNDS else 15

MOST_ERRORS = 0.25
LEAST_KNOWN = 0.6
MOST_REPORTED = 25


def seed_of(number: int) -> str:
    """The first round has the seed as it was given, so that a failing one can be run alone."""
    return SEED if number == 0 else f"{SEED}-{number}"


@pytest.mark.parametrize("number", range(ROUNDS or 1))
def test_a_random_workload_is_read_as_the_server_wrote_it(
    server: Server, replica: Server, number: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seed = seed_of(number)
    with capsys.disabled():
        print(f"\n{server.daemon} {server.version}: SEED={seed}", end=" ", flush=True)
    one = Round(server, replica, seed, tmp_path, SESSIONS)
    differences = one.differences()
    report = "\n".join(differences[:MOST_REPORTED])
    assert not differences, f"SEED={seed} on {server.daemon}: {len(differences)} differences\n{report}"
    counts = one.counts
    assert counts["errors"] <= MOST_ERRORS * counts["statements"], "the workload hardly does a thing"
    assert counts["tables"] > 0
    assert counts["known"] >= LEAST_KNOWN * (counts["known"] + counts["unknown"])
