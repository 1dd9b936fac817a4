"""``binx plan``: plan a point-in-time recovery, with the commands for it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import tzinfo
from typing import Any

from binx.cli.command import PATH, Example, command, flag, option, parsed
from binx.cli.executing import execute_plan, execution_options
from binx.cli.options import LOOK, ZONE, Logs, as_json_option, log_options
from binx.cli.selecting import backup_options, backup_position
from binx.cli.terminal import text_output
from binx.errors import ExitCode, UsageError
from binx.event.gtid.sets import GtidSet
from binx.log.backup_position import BackupPosition, read_backup_position
from binx.log.selection.options import ShortGtids, parse_gtids, resolved
from binx.log.selection.times import Position, parse_zoned_time
from binx.recovery.commands import Way, replay_ways
from binx.recovery.recovery_plan import Edge, RecoveryPlan, Target, TargetKind, plan_recovery
from binx.report.document import json_line
from binx.report.records import names_of
from binx.source.wording import counted
from binx.stats.text import bytes_text, safe_text, time_text

EXAMPLES = (
    Example(
        "from last night's backup up to a mistake",
        "binx plan --backup full-backup --to-time '2026-11-21 09:30' mysql-bin.index",
    ),
    Example(
        "from a dump up to the transaction before the one that dropped a table, out of the archive",
        "binx plan --backup dump.sql.gz --before-gtid 3e11fa47-71ca-11e1-9e33-c80aa9429562:23 archive",
    ),
    Example(
        "carry it out on the server that the backup was restored to",
        "binx plan --backup dump.sql --to-time '2026-11-21 09:30' --execute --target mysql://db2 archive",
    ),
    Example(
        "only the commands for mysqlbinlog, from a known position",
        "binx plan --from mysql-bin.000003:157 --json mysql-bin.0* | jq -r '.commands.mysqlbinlog[]'",
    ),
)

BACKUP = "The backup"
TARGET = "The target"
EXECUTION = "Carrying it out"


@command(
    "plan",
    examples=EXAMPLES,
    brief="backup from-gtid from to-time to-gtid before-gtid execute target tables listen user json tz",
)
@option(
    "--backup PATH",
    type=PATH,
    section=BACKUP,
    help="The backup: the folder of XtraBackup, mariadb-backup, MySQL Shell or mydumper, or a dump with its"
    " position (--source-data, --master-data), which may be compressed.",
)
@backup_options(BACKUP)
@option(
    "--to-time TIME",
    "--stop-datetime",
    "to_time",
    section=TARGET,
    help="Replay what was committed before this time, up to the first transaction that was not.",
)
@option("--to-gtid SET", type=parsed(parse_gtids), section=TARGET, help="Replay up to this transaction.")
@option(
    "--before-gtid SET",
    type=parsed(parse_gtids),
    section=TARGET,
    help="Replay up to the transaction before this one.",
)
@flag(
    "--execute",
    "Do it: serve the logs to the restored server, have it replicate them, and watch it to the end.",
    section=EXECUTION,
)
@execution_options(EXECUTION)
@as_json_option("Print one JSON object.")
@ZONE
@LOOK
@log_options(index=True, damage=False)
def plan_command(
    logs: Logs,
    backup: str | None,
    from_gtid: GtidSet | ShortGtids | None,
    from_position: Position | None,
    to_time: str | None,
    to_gtid: GtidSet | ShortGtids | None,
    before_gtid: GtidSet | ShortGtids | None,
    as_json: bool,
    zone: tzinfo,
    execute: bool,
    **execution: Any,
) -> ExitCode:
    """Plan a point-in-time recovery: whether logs or an archive lead from a backup to a moment, and how."""
    sets = [None if raw is None else resolved(raw, logs.paths) for raw in (from_gtid, to_gtid, before_gtid)]
    position = _given_backup(backup, sets[0], from_position)
    target = _target(to_time, sets[1], sets[2], zone)
    if execute:

        def show(plan: RecoveryPlan, replayed: dict[str, Any] | None) -> None:
            if replayed is not None:
                lines = [json_line("replayed", replayed)] if as_json else []
            else:
                lines = [json_line("plan", _facts(plan, []))] if as_json else list(_lines(plan, [], zone))
            with text_output(plain=as_json) as output:
                for line in lines:
                    output.line(line)

        return execute_plan(logs, position, target, execution, show)
    if execution["server"] is not None or execution["tables"]:
        raise UsageError("--target and --tables apply only to --execute")
    if position is None:
        raise UsageError("expected the backup: --backup PATH, or --from-gtid SET and --from FILE:POS")
    with text_output(plain=as_json) as output:
        with logs.opened("plan", warns=False) as (chain, _):
            plan = plan_recovery(chain, position, target)
        ways = replay_ways(plan)
        lines = [json_line("plan", _facts(plan, ways))] if as_json else _lines(plan, ways, zone)
        for line in lines:
            output.line(line)
    return ExitCode.DONE if plan.covered else ExitCode.ABSENT


def _given_backup(
    path: str | None, gtids: GtidSet | None, position: Position | None
) -> BackupPosition | None:
    """Return the backup's position, from the backup or from the user, if one of them says it."""
    explicit = backup_position(gtids, position)
    if path is not None and explicit is not None:
        raise UsageError("expected the backup once: --backup PATH, or --from-gtid SET and --from FILE:POS")
    return explicit if path is None else read_backup_position(path)


def _target(
    to_time: str | None, to_gtid: GtidSet | None, before_gtid: GtidSet | None, zone: tzinfo
) -> Target:
    targets = [target for target in (to_time, to_gtid, before_gtid) if target is not None]
    if len(targets) > 1:
        raise UsageError("expected one target, found several of --to-time, --to-gtid and --before-gtid")
    if to_time is not None:
        return Target(TargetKind.TIME, time=parse_zoned_time(to_time, zone))
    if to_gtid is not None:
        return Target(TargetKind.GTIDS, gtids=to_gtid)
    return Target() if before_gtid is None else Target(TargetKind.BEFORE, gtids=before_gtid)


def _lines(plan: RecoveryPlan, ways: list[Way], zone: tzinfo) -> Iterator[str]:
    """Yield the plan for people; commands are left to the terminal to wrap, so that they can be copied."""
    facts = [("covered", "yes" if plan.covered else "no")]
    facts += [("problem", problem) for problem in plan.reasons]
    facts += [("missing", name) for name in plan.missing_files]
    if plan.missing_gtids:
        facts.append(("missing", f"GTIDs {plan.missing_gtids}"))
    source = f", noted in {plan.backup.noted_in}" if plan.backup.noted_in else ""
    facts += [("backup", f"{plan.backup}{source}"), ("target", str(plan.target))]
    for name, edge in (("begin", plan.first), ("end", plan.last), ("left out", plan.next)):
        if edge is not None:
            facts.append((name, _edge_text(edge, zone, is_end=name == "end")))
    if plan.first is None and plan.covered:
        facts.append(("replay", "nothing: the backup stands at the target"))
    elif plan.first is not None:
        facts.append(
            (
                "replay",
                f"{counted(plan.transactions, 'transaction')}, {bytes_text(plan.bytes)},"
                f" {counted(len(plan.files), 'log')}",
            )
        )
    if plan.held_gtids:
        facts.append(("pass over", f"{plan.held_gtids}, which the backup holds"))
    facts += [("note", note) for note in plan.notes]
    for name, text in facts:
        yield f"{name:<9}  {safe_text(text)}"
    for way in ways:
        yield ""
        yield f"# {way.purpose}"
        yield from map(safe_text, way.lines)


def _edge_text(edge: Edge, zone: tzinfo, *, is_end: bool) -> str:
    gtid = "" if edge.gtid is None else f" {edge.gtid}"
    position = f"{edge.file}:{edge.position}, {'after' if is_end else 'with'} the transaction{gtid}"
    return f"{position} of {time_text(edge.commit_timestamp, zone)}"


def _facts(plan: RecoveryPlan, ways: list[Way]) -> dict[str, Any]:
    """Return the plan for programs."""
    backup, target = plan.backup, plan.target
    return {
        **{name: getattr(plan, name) for name in names_of("plan") if hasattr(plan, name)},
        "backup": {
            "file": backup.file or None,
            "position": backup.offset if backup.file else None,
            "gtid_set": backup.gtids,
            "noted_in": backup.noted_in or None,
        },
        "target": {
            "kind": target.kind,
            "until": target.time if target.kind is TargetKind.TIME else None,
            "gtid_set": target.gtids,
        },
        "commands": {way.name: way.lines for way in ways},
    }
