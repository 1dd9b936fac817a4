"""Random statements about the whole of a table's definition, of which a server takes about half."""

from __future__ import annotations

from random import Random

COLUMNS = ("a", "b", "c", "d", "e", "Long name", "ключ")
TYPES = (
    "INT", "INT(5)", "BIGINT UNSIGNED", "SMALLINT(4) ZEROFILL", "TINYINT(1)", "DECIMAL(12,3)", "FLOAT",
    "DOUBLE(9,2)", "BIT(3)", "DATE", "DATETIME(3)", "TIMESTAMP", "TIMESTAMP(2)", "TIMESTAMP NULL", "TIME",
    "YEAR", "CHAR(5)", "VARCHAR(30)", "VARCHAR(30) CHARACTER SET latin1", "VARCHAR(30) COLLATE utf8mb4_bin",
    "VARCHAR(20) CHARACTER SET latin1 COLLATE latin1_bin", "TEXT", "MEDIUMTEXT CHARACTER SET utf8mb4",
    "VARBINARY(20)", "BLOB", "ENUM('x','it''s','y z')", "SET('p','q\\\\r')", "JSON", "POINT NOT NULL",
)  # fmt: skip
NUMBERS = ("INT", "INT NOT NULL", "BIGINT UNSIGNED", "DECIMAL(10,2)", "SMALLINT")
TEXTS = ("VARCHAR(30)", "CHAR(9)", "VARCHAR(60) CHARACTER SET latin1", "TEXT")
DEFAULTS = (
    "1", "'1'", "-2.50", "'a'", "'it''s'", "'2021-02-03'", "'2021-02-03 04:05:06'", "NULL", "x'31'", "b'1'",
    "(1 + 2)", "(CONCAT('x', \"y\"))", "(UUID())", "CURRENT_TIMESTAMP", "NOW()", "('[]')", "TRUE",
    "'é'", "_latin1'ab'", "0x3132",
)  # fmt: skip
SEQUENCE_DEFAULTS = (
    "nextval(`s 1`)", "NEXT VALUE FOR `made`.`s 1`", "(1 + lastval(`made two`.`s 1`))",
    "(PREVIOUS VALUE FOR `s 1`)",
)  # fmt: skip
SEQUENCES = (
    "START WITH 5 INCREMENT BY 2", "MINVALUE 10 MAXVALUE = 500 CACHE 7", "INCREMENT -1", "NOCACHE CYCLE",
    "INCREMENT BY -3 MAXVALUE 90 MINVALUE -9 NO CYCLE", "", "NO MAXVALUE ENGINE=InnoDB COMMENT 'it''s one'",
)  # fmt: skip
CHARSETS = (
    "CHARACTER SET latin1", "CHARACTER SET utf8mb4", "COLLATE latin1_bin", "COLLATE utf8mb4_unicode_ci",
    "CHARACTER SET latin1 COLLATE latin1_german1_ci", "CHARSET utf8mb3",
)  # fmt: skip
OPTIONS = (
    "COMMENT 'it''s \\\\ a \"table\"'", "ENGINE=InnoDB", "ENGINE = MyISAM", "ROW_FORMAT=DYNAMIC",
    "ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8", "MAX_ROWS=1000", "MIN_ROWS 10", "CHECKSUM=1", "PACK_KEYS=1",
    "STATS_PERSISTENT=0", "STATS_SAMPLE_PAGES=9", "AVG_ROW_LENGTH=100", "DELAY_KEY_WRITE=1",
    "STATS_AUTO_RECALC=1", "COMMENT=''", "AUTO_INCREMENT=7",
)  # fmt: skip
DATABASES = ("made", "made two")
TABLES = ("t", "u", "V", "w x")


class Tables:
    """Makes statements."""

    def __init__(self, random: Random, *, mariadb: bool) -> None:
        self._random, self._mariadb = random, mariadb
        self._places: list[str] = []
        self._has_clocks = False

    def begin(self) -> list[str]:
        """The databases and the first tables."""
        pick = self._random.choice
        made = [f"CREATE DATABASE `{db}` {pick(CHARSETS)}" for db in DATABASES]
        if self._mariadb:
            made += [f"CREATE SEQUENCE `{db}`.`s 1` {pick(SEQUENCES)}" for db in DATABASES]
        return [*made, f"USE `{pick(DATABASES)}`", *(self.create(self._place()) for _ in range(3))]

    def statement(self) -> str:
        """One statement."""
        chance = self._random.random()
        place = self._random.choice(self._places)
        if chance < 0.12:
            return self._settings()
        if chance < 0.3:
            return self.create(self._place())
        if chance < 0.4:
            return self._moved(place)
        if chance < 0.5:
            return self._index(place)
        count = self._random.choice((1, 1, 1, 2, 3))
        return f"ALTER TABLE {place} {', '.join(self._clause() for _ in range(count))}"

    def _settings(self) -> str:
        pick = self._random.choice
        modes = ("", "", "ANSI_QUOTES", "PIPES_AS_CONCAT", "NO_BACKSLASH_ESCAPES", "IGNORE_SPACE")
        zone = pick(("SYSTEM", "+00:00", "+02:00", "+02:00", "-05:30"))
        values = [f"sql_mode = '{pick(modes)}'", f"time_zone = '{zone}'"]
        self._has_clocks = pick((False, False, True))
        values += [f"explicit_defaults_for_timestamp = {int(not self._has_clocks)}"]
        values += [f"NAMES {pick(('utf8mb4', 'latin1'))}"]
        if not self._mariadb and self._random.random() < 0.3:
            values.append(f"default_collation_for_utf8mb4 = utf8mb4_{pick(('general_ci', '0900_ai_ci'))}")
        return f"SET {', '.join(values)}"

    def _place(self) -> str:
        place = f"`{self._random.choice(DATABASES)}`.`{self._random.choice(TABLES)}`"
        self._places.append(place)
        return place

    def _name(self) -> str:
        return f"`{self._random.choice(COLUMNS)}`"

    def _column(self, name: str) -> str:
        pick, chance = self._random.choice, self._random.random()
        if chance < 0.12:
            stored = pick(("VIRTUAL", "STORED", ""))
            formula = pick(
                (f"{self._name()} + 1", f"CONCAT({self._name()}, 'x')", "1 + 1", f"{self._name()} || 1")
            )
            return f"{name} {pick(NUMBERS[:1] + TEXTS[:2])} AS ({formula}) {stored}{self._comment()}"
        text = f"{name} {pick((*TYPES, *NUMBERS, *TEXTS))}"
        if "NULL" not in text:
            text += pick(("", " NOT NULL", " NULL"))
        if self._random.random() < 0.4:
            text += f" DEFAULT {pick(SEQUENCE_DEFAULTS if self._mariadb and chance > 0.9 else DEFAULTS)}"
        if self._random.random() < 0.1:
            text += " ON UPDATE CURRENT_TIMESTAMP" + pick(("", "(3)", "()"))
        if self._random.random() < 0.15:
            qualified = f"`{self._random.choice(TABLES)}`.{name}"
            check = pick((f"{name} > 0", f"{name} <> 'x'", f"{name} IS NOT NULL OR 1", f"{qualified} > 1"))
            enforced = "" if self._mariadb else pick(("", "", " NOT ENFORCED"))
            text += f" CHECK ({check}){enforced}"
        text += pick(("", "", "", "", " INVISIBLE", " UNIQUE", " AUTO_INCREMENT UNIQUE"))
        return text + self._comment()

    def _comment(self) -> str:
        return self._random.choice(("", "", "", " COMMENT 'say \"it''s\" é'", " COMMENT 'a; b'"))

    def _parts(self) -> str:
        random = self._random
        parts = []
        for name in random.sample(COLUMNS, random.choice((1, 1, 2, 3))):
            prefix = random.choice(("", "", "", "(4)"))
            part = f"`{name}`{prefix}{random.choice(('', '', ' DESC', ' ASC'))}"
            if not self._mariadb and random.random() < 0.15:
                part = random.choice((f"(`{name}` + 1)", f"(LOWER(`{name}`)) DESC"))
            parts.append(part)
        return f"({', '.join(parts)})"

    def _key(self) -> str:
        pick, parts = self._random.choice, self._parts()
        name = pick(("", "k1", "k2", "`k 3`"))
        check_end = "" if self._mariadb else pick(("", "", " NOT ENFORCED"))
        table = pick(TABLES)
        action = pick(
            ("", " ON DELETE CASCADE", " ON UPDATE SET NULL", " ON DELETE NO ACTION ON UPDATE RESTRICT")
        )
        referring = f"({self._name()}) REFERENCES `{table}` (`id`){action}"
        constraint = pick(("", f"CONSTRAINT fk{self._random.randint(1, 99)} "))
        hidden = ("NOT IGNORED", "IGNORED") if self._mariadb else ("VISIBLE", "INVISIBLE")
        options = pick(("", "", " USING BTREE", " COMMENT 'a key'", f" {pick(hidden)}", " KEY_BLOCK_SIZE=4"))
        return pick(
            (
                f"PRIMARY KEY {parts}",
                f"UNIQUE {name} {parts}{options}",
                f"KEY {name} {parts}{options}",
                f"INDEX {name} USING HASH {parts}",
                f"FULLTEXT KEY {name} ({self._name()})",
                f"SPATIAL KEY {name} ({self._name()})",
                f"{pick(('', 'CONSTRAINT c1 ', 'CONSTRAINT c2 '))}CHECK ({self._name()} <> 3){check_end}",
                f"{constraint}FOREIGN KEY {pick(('', '', 'i9'))} {referring}",
                f"{constraint}FOREIGN KEY {referring}",
            )
        )

    def create(self, place: str) -> str:
        """A CREATE TABLE."""
        pick, random = self._random.choice, self._random
        if len(self._places) > 3 and random.random() < 0.2:
            return f"CREATE TABLE {place} LIKE {pick(self._places)}"
        names = random.sample(COLUMNS, random.randint(1, 4))
        items = [pick(("`id` INT NOT NULL", "`id` INT", "`id` BIGINT UNSIGNED NOT NULL"))]
        items += [self._column(f"`{name}`") for name in names]
        items += pick((["PRIMARY KEY (`id`)"], ["PRIMARY KEY (`id`)"], ["KEY (`id`)"], []))
        items += [self._key() for _ in range(random.choice((0, 0, 1, 2)))]
        options = " ".join(random.sample((*OPTIONS, *CHARSETS, ""), random.choice((0, 1, 2))))
        tail = self._partitions() if random.random() < 0.2 else ""
        if self._mariadb and random.random() < 0.08:
            options += " WITH SYSTEM VERSIONING"
        return f"CREATE TABLE {pick(('', '', 'IF NOT EXISTS '))}{place} ({', '.join(items)}) {options} {tail}"

    def _partitions(self) -> str:
        ranges = "PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN (20) COMMENT = 'second'"
        return self._random.choice(
            (
                "PARTITION BY HASH (`id`)",
                "PARTITION BY HASH (id) PARTITIONS 3",
                "PARTITION BY KEY (`id`) PARTITIONS 2",
                f"PARTITION BY RANGE (`id`) ({ranges}, PARTITION pmax VALUES LESS THAN MAXVALUE)",
                f"PARTITION BY RANGE (id) SUBPARTITION BY HASH (id) SUBPARTITIONS 2 ({ranges})",
                "PARTITION BY LIST (id) (PARTITION l0 VALUES IN (1, 2), PARTITION l1 VALUES IN (3))",
            )
        )

    def _moved(self, place: str) -> str:
        pick = self._random.choice
        other, new = pick(self._places), self._place()
        return pick(
            (
                f"RENAME TABLE {place} TO {new}",
                f"ALTER TABLE {place} RENAME TO {new}",
                f"RENAME TABLE {place} TO made.between, {other} TO {place}, made.between TO {other}",
                f"DROP TABLE {place}",
                f"ALTER DATABASE `{pick(DATABASES)}` {pick(CHARSETS)}",
                f"USE `{pick(DATABASES)}`",
                f"ALTER SEQUENCE `{pick(DATABASES)}`.`s 1` {pick(SEQUENCES)}",
                f"CREATE TABLE {new} LIKE {place}",
            )
        )

    def _index(self, place: str) -> str:
        pick = self._random.choice
        kind = pick(("", "", "UNIQUE ", "FULLTEXT "))
        name = pick(("k1", "k2", "k5"))
        return pick(
            (
                f"CREATE {kind}INDEX {name} ON {place} {self._parts()} {pick(('', 'COMMENT ' + repr('x')))}",
                f"CREATE INDEX {name} USING BTREE ON {place} {self._parts()}",
                f"DROP INDEX {name} ON {place}",
            )
        )

    def _clause(self) -> str:
        pick = self._random.choice
        where = pick(("", "", " FIRST", f" AFTER {self._name()}"))
        hidden = ("NOT IGNORED", "IGNORED") if self._mariadb else ("VISIBLE", "INVISIBLE")
        # What MariaDB leaves of the clock that it gave to a TIMESTAMP follows no rule.
        keeps_clocks = self._mariadb and self._has_clocks
        clauses = (
            f"ADD COLUMN {self._column(self._name())}{where}",
            f"ADD {self._column(self._name())}{where}",
            f"MODIFY {self._column(self._name())}{where}",
            f"CHANGE {self._name()} {self._column(self._name())}{where}",
            f"DROP COLUMN {self._name()}",
            f"RENAME COLUMN {self._name()} TO {self._name()}",
            f"ALTER {self._name()} SET DEFAULT {pick(DEFAULTS)}",
            f"ALTER {self._name()} {'SET DEFAULT 0' if keeps_clocks else 'DROP DEFAULT'}",
            f"ADD {self._key()}",
            f"ADD {self._key()}",
            f"DROP KEY {pick(('k1', 'k2', self._name()))}",
            "DROP PRIMARY KEY",
            f"DROP CONSTRAINT {pick(('c1', 'c2', 't_chk_1', 'CONSTRAINT_1'))}",
            f"RENAME INDEX {pick(('k1', 'k2'))} TO {pick(('k4', 'k2'))}",
            f"ALTER INDEX {pick(('k1', 'k2'))} {pick(hidden)}",
            f"CONVERT TO {pick(CHARSETS[:2])}",
            f"DEFAULT {pick(CHARSETS)}",
            pick(OPTIONS),
            pick(OPTIONS),
            pick(("DROP FOREIGN KEY t_ibfk_1", "DROP FOREIGN KEY u_ibfk_1")),
            pick(("ALTER CHECK c1 NOT ENFORCED", "ALTER CHECK c1 ENFORCED")),
        )
        partitions = (
            self._partitions(),
            "REMOVE PARTITIONING",
            "ADD PARTITION PARTITIONS 2",
            "COALESCE PARTITION 1",
            "ADD PARTITION (PARTITION p7 VALUES LESS THAN (700))",
            "DROP PARTITION p1",
            "REORGANIZE PARTITION p0 INTO"
            " (PARTITION n0 VALUES LESS THAN (5), PARTITION n1 VALUES LESS THAN (10))",
            "TRUNCATE PARTITION p0",
            "REBUILD PARTITION p0",
        )
        versions = ("ADD SYSTEM VERSIONING", "DROP SYSTEM VERSIONING") if self._mariadb else ()
        if self._random.random() < 0.15:
            return str(pick((*partitions, *versions)))
        return str(pick(clauses))
