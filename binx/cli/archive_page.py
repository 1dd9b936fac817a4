"""The examples and the details of ``binx archive``'s manual page."""

from __future__ import annotations

from binx.cli.command import Example

EXAMPLES = (
    Example(
        "from cron: archive what was closed since the last run", "binx archive mysql-bin.index --to archive"
    ),
    Example("show what would be done", "binx archive --dry-run mysql-bin.index --to elsewhere"),
    Example(
        "also export tables, and print what the server may purge",
        "binx archive mysql-bin.index --to archive --parquet lake --prune 7 --json",
    ),
    Example(
        "encrypt, on a machine that has only the public key",
        "binx archive mysql-bin.index --to sealed --encrypt-to"
        " age1dkzd62lh6n2t6aj9jh3v099ded0gv9nvnavvpa3q2e6vgt89lv2s5jd6jj",
    ),
    Example("extract a transaction from the archive", "binx extract --gtid UUID:1006 archive -o one.binlog"),
    Example(
        "check that the archive is intact and complete", "binx archive --check mysql-bin.index --to archive"
    ),
    Example("list what is archived", "binx archive --list --to archive"),
    Example(
        "which logs of the archive are older than a year", "binx archive --expire 365 --dry-run --to archive"
    ),
    Example("restore a log", "binx archive --restore mysql-bin.000003 --to archive -o restored.000003"),
    Example(
        "restore the transactions of some minutes",
        "binx archive --since '2026-11-21 09:30' --until '2026-11-21 09:45' --to archive -o span.binlog",
    ),
)

DETAILS = (
    "SOURCE is a folder of logs or a server's .index file. A log is closed if it is not marked as in use"
    " and ends with ROTATE or STOP, or if a later log of its server exists. Each closed log that DEST does"
    " not have yet is hashed and fully verified; compressed as zstd, in frames of about 4 MiB that end at"
    " transaction boundaries, so that zstd -d restores the identical log and every binx command reads it in"
    " place; read back and compared with the hash of the log; indexed as by binx index; and committed by"
    " its manifest in DEST/_manifest, which is written last.",
    "Objects are named LOG.IDENTITY-HASH.zst and .binx. The identity is that of the server and the start of"
    " the log, as in the data set; the hash is that of the log's contents. Logs with the same name, from"
    " another server or after numbering was reset, therefore coexist.",
    "After any interruption, including kill -9 or a full disk, the next run continues, with the same result"
    " in DEST. A lock that is released when the process ends prevents concurrent runs: in a local DEST of"
    " all processes, otherwise of those on this machine.",
    "Damaged logs are reported, also those that may still be written, and skipped; the others are archived."
    " With --on-damage keep, damaged closed logs are also archived, byte for byte, before the server purges"
    " them. The manifest of such a log lists the damage;"
    " it has no index; --check keeps reporting it; --prune keeps it and all later logs; time spans are not"
    " restored from it; --parquet writes its intact transactions. If an intact copy later appears in"
    " SOURCE, it is archived as well and replaces the damaged one from then on. A log whose first event is"
    " damaged is kept too if a later log exists, but nothing can be read from it.",
    "Logs encrypted by their server are archived with --encrypt-to, or with --decrypt, which stores them"
    " unencrypted. File permissions follow the umask.",
    "With --encrypt-to, everything that this run archives, compressed logs and index files, is encrypted"
    " with age (https://age-encryption.org/v1) to the recipients. Names then end in .zst.age and .binx.age;"
    " commands read them in place with --identity, and age -d -i FILE X.zst.age | zstd -d restores the"
    " identical log. No secret key is needed to archive, to --check hashes, or to --prune. Manifests are"
    " not encrypted: they contain names, sizes, times, GTIDs and recipients. Recipients are X25519 keys"
    " from age-keygen; plugin, SSH, passphrase and hybrid post-quantum recipients are refused. Logs that"
    " DEST already has stay as they are, encrypted or not. --parquet writes rows unencrypted and requires"
    " --decrypt and --identity together with --encrypt-to. To re-encrypt an archive for other recipients,"
    " give it as SOURCE, with the --identity that reads it.",
    "--expire deletes from DEST the logs whose last transaction is more than DAYS days old: of each server"
    " the oldest, never the newest, and none behind one that stays. First, the objects of the oldest log that"
    " stays are hashed, and it must list the GTIDs of those that go as logged before it. Which logs go is"
    " printed; what the servers have purged is then nowhere else. Take more days than the servers keep"
    " their logs, as the next run archives again what a SOURCE still has.",
    "--list prints a line per archived log with these fields, separated by tabs: name, server id, first and"
    " last commit time, bytes, stored bytes, transactions, and whole, encrypted or damaged.",
    "One line is printed per archived log, or one line if there was nothing to do. With --json, each line"
    " is an object: one per log with log, state (archived, would archive, damaged, kept damaged, failed,"
    " tables written, pruned, would prune, purgeable, expired, would expire), name, bytes, stored_bytes,"
    " transactions, gtid_set, sha256, problems, damage, recipients, source (its name in the data set), rows,"
    " losses and error; and"
    " one for the run with run (ok, problems, failed), held, archived, remaining, open, damaged, failed,"
    " problems, tables, losses, pruned, purge and seconds.",
    "With --parquet, the data set of to-parquet is written from the archive, for each archived log that DIR"
    " does not have yet. Table definitions come from the statements in earlier logs.",
    "With --prune, logs of SOURCE that have not been written to for DAYS days are deleted: oldest first,"
    " never the newest, and none after one that must stay. Before a log is deleted, its manifest is read"
    " again, every object of the archive is hashed, and the log's own bytes are compared with that hash;"
    " with --parquet, DIR must have it too. If SOURCE has a server's .index file, nothing is deleted,"
    " because the server expects the files listed there; instead, the statement PURGE BINARY LOGS TO is"
    " printed (purge in the JSON), which lets the server delete what is safely archived. Without --prune,"
    " SOURCE is never changed.",
    "--check hashes every object, opens every log, and compares the logs with each other and with those of"
    " SOURCE, if given. It reports the GTIDs covered, logs and GTIDs missing in between, GTIDs that two"
    " logs of a server contain, and what is not archived yet. With --json, it prints one object with check"
    " (ok, problems, missing), logs, bytes, stored_bytes, transactions, encrypted, unopened (encrypted logs"
    " that no identity opens), gtid_set, missing_gtids, problems, notes and tail.",
    "--restore LOG restores a log byte for byte; if its hash differs from the original, nothing is written."
    " If several logs have that name, they are listed with longer, unique names. With --gtid, --since or"
    " --until, a binary log with these transactions is written, as by binx extract; the objects they come"
    " from are hashed first, and the output is read again.",
    "The exit status of a run is 0 if all closed logs are archived or left for the next run because of a"
    " limit, 3 if logs are damaged or contain problems that their server wrote, and 1 if something failed."
    " For --check it is 0 if nothing is wrong, 3 if problems are listed, and 4 if an object or a log is"
    " missing. For --restore it is 4 if the log or a GTID is not in the archive.",
)
