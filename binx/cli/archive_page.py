"""The examples and the details of ``binx archive``'s manual page."""

from __future__ import annotations

from binx.cli.declaration import Example

EXAMPLES = (
    Example("from cron: what was closed since the last run", "binx archive mysql-bin.index --to archive"),
    Example("what it would do", "binx archive --dry-run mysql-bin.index --to elsewhere"),
    Example(
        "with tables, and what the server may purge when it is proved",
        "binx archive mysql-bin.index --to archive --parquet lake --prune 7 --json",
    ),
    Example(
        "encrypted, on a machine that has the public key alone",
        "binx archive mysql-bin.index --to sealed --encrypt-to"
        " age1dkzd62lh6n2t6aj9jh3v099ded0gv9nvnavvpa3q2e6vgt89lv2s5jd6jj",
    ),
    Example(
        "a transaction out of the archive",
        "binx extract --gtid UUID:1006 archive -o one.binlog",
    ),
    Example(
        "whether it is whole, and all there",
        "binx archive --check mysql-bin.index --to archive",
    ),
    Example(
        "a log as it was",
        "binx archive --restore mysql-bin.000003 --to archive -o restored.000003",
    ),
    Example(
        "what was committed within some minutes",
        "binx archive --since '2026-11-21 09:30' --until '2026-11-21 09:45' --to archive -o span.binlog",
    ),
)

DETAILS = (
    "SOURCE is a folder of logs or a server's index of them. Closed is a log that is not marked as in use"
    " and ends with ROTATE or STOP, or one that a later log of its server follows. Each closed log that"
    " DEST does not hold yet is hashed and verified in full; compressed as zstd in frames of some 4 MiB"
    " that end where transactions do, so that zstd -d restores the identical log and every command of binx"
    " reads it in place; read back, and the restored bytes held against the hash of the log; indexed, as"
    " binx index does it; and committed by its manifest in DEST/_manifest, which is written last.",
    "Objects are named LOG.IDENTITY-HASH.zst and .binx: identity is that of the server and the log's"
    " beginning, as in the data set, and hash is of the log's content. So logs of one name, as after the"
    " numbering began anew or from another server, live side by side.",
    "Whenever a run is ended, also by kill -9 or a full disk, the next one goes on, and what then stands"
    " in DEST is the same. A lock that goes with its process keeps a second run away: in a local DEST from"
    " all processes, in others from those of this machine.",
    "A log that is damaged is not taken; the others are. With --on-damage keep it is taken too, byte for"
    " byte as it is, before its server purges it: its manifest lists the damage, it has no index, --check"
    " goes on to report it, --prune lets it and all logs behind it be, spans are not restored from it, and"
    " --parquet writes what is whole. A whole copy that takes its place in SOURCE is archived beside it,"
    " and stands for it from then on. A log whose first event is damaged is kept so too, when a"
    " later one is there; nothing can be read of it.",
    "A log that its server encrypted is taken with --encrypt-to, or with --decrypt, and is then not"
    " encrypted in the archive. What is written has the permissions that umask gives.",
    "With --encrypt-to all that this run archives is encrypted with age (https://age-encryption.org/v1) to"
    " the recipients, compressed logs and index files: their names end in .zst.age and .binx.age, commands"
    " read them in place with --identity, and age -d -i FILE X.zst.age | zstd -d restores the identical log."
    " No secret key is needed to archive, to --check by hashes, or to --prune. Manifests are not encrypted:"
    " names, sizes, times, GTIDs and recipients can be read in them. Recipients are X25519 keys, as"
    " age-keygen makes them; those of plugins, SSH, passphrases and the post-quantum hybrid are refused. A"
    " log that DEST holds already stays as it is there, encrypted or not. --parquet writes rows in the clear,"
    " and wants --decrypt and --identity beside --encrypt-to. To encrypt an archive to others, give it as"
    " SOURCE, with the --identity that reads it.",
    "One line is printed for each log that was taken, or one where there was nothing to do. With --json"
    " each line is an object: one for each log with log, state (archived, would archive, damaged, kept"
    " damaged, failed, tables written, pruned, would prune, purgeable), name, bytes, stored_bytes,"
    " transactions, gtid_set, sha256, problems, damage, recipients, source (its name in"
    " the data set), rows, losses and error; and one for the run with run (ok, problems, failed), held,"
    " archived, remaining, open, damaged, failed, problems, tables, losses, pruned, purge and seconds.",
    "With --parquet the data set of to-parquet is written too, out of the archive: of each archived log"
    " that DIR does not hold yet, with the tables' columns as the statements in the logs before it name"
    " them.",
    "With --prune, logs of SOURCE that were not written to for DAYS days are removed: oldest first, never"
    " the newest, none behind one that must stay, and only after the manifest was read again, every object"
    " of the archive was hashed, and the log's own bytes were compared with that hash; with --parquet only"
    " what DIR holds too. Where SOURCE has a server's index, nothing is removed, as the server would look"
    " for what its index lists: the statement that lets the server remove what is proved, PURGE BINARY"
    " LOGS TO, is printed (purge in the JSON). Without --prune, SOURCE is never changed.",
    "--check hashes every object, opens every log, and holds the logs against each other and against"
    " those of SOURCE, where that is given: the GTIDs that are covered, logs and GTIDs that are missing"
    " between them, GTIDs that two logs of a server hold, and the tail that is not archived yet. With"
    " --json it prints one object with check (ok, problems, missing), logs, bytes, stored_bytes,"
    " transactions, encrypted, unopened (encrypted logs that no identity opens), gtid_set, missing_gtids,"
    " problems, notes and tail.",
    "--restore LOG writes a log as it was; its bytes must have the hash that they had, or nothing is"
    " written. Several logs of that name are listed, with the longer names to tell them apart. With"
    " --gtid, --since or --until a binary log with these transactions is written, as binx extract does it;"
    " the objects that they come from are hashed before, and what is written is read again.",
    "The exit status of a run is 0 where all closed logs are archived or left to the next run by a limit,"
    " 3 where logs are damaged or have problems that their server wrote, and 1 where something failed; of"
    " a check 0 where nothing is wrong, 3 where problems are listed, and 4 where an object or a log is"
    " missing; of --restore 4 where the log or a GTID is not in the archive.",
)

__all__ = ["DETAILS", "EXAMPLES"]
