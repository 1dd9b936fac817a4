"""Schema statements, in the order in which servers ran them to make the expected columns.

Each case is a statement, the servers that it is for (``*`` for both) and the sql_mode to run it in
(empty for the server's own). A statement that a server refuses stands in its expectations with the
error, and changes nothing.
"""
# Statements are easier to read and to find in the expectations where they are not broken.
# ruff: noqa: E501

from __future__ import annotations

from typing import NamedTuple


class Case(NamedTuple):
    """One statement of the sequence."""

    sql: str
    server: str = "*"
    sql_mode: str = ""

    def is_for(self, server: str) -> bool:
        return self.server in {"*", server}


def _both(*statements: str) -> list[Case]:
    return [Case(sql) for sql in statements]


def _mysql(*statements: str) -> list[Case]:
    return [Case(sql, "mysql") for sql in statements]


def _mariadb(*statements: str) -> list[Case]:
    return [Case(sql, "mariadb") for sql in statements]


CASES: list[Case] = [
    *_both(
        "CREATE DATABASE ddl_a CHARACTER SET latin1",
        "CREATE SCHEMA IF NOT EXISTS `ddl_b` DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin",
        "create database if not exists ddl_a character set ucs2",
        # integers and their synonyms
        "CREATE TABLE integers (a TINYINT, b SMALLINT, c MEDIUMINT, d INT, e INTEGER, f BIGINT)",
        "CREATE TABLE integers_u (a TINYINT UNSIGNED, b SMALLINT(4) UNSIGNED, c MEDIUMINT(8) UNSIGNED ZEROFILL,"
        " d INT(11) UNSIGNED, e BIGINT(20) UNSIGNED NOT NULL, f INT ZEROFILL, g TINYINT(1), h TINYINT(1) UNSIGNED)",
        "CREATE TABLE integer_names (a INT1, b INT2, c INT3, d INT4, e INT8, f MIDDLEINT, g BOOL, h BOOLEAN,"
        " i INT SIGNED)",
        "CREATE TABLE serials (id SERIAL, b BIGINT)",
        "CREATE TABLE serial_value (id INT SERIAL DEFAULT VALUE, b INT)",
        # numbers
        "CREATE TABLE decimals (a DECIMAL, b DECIMAL(5), c DECIMAL(10,2) UNSIGNED, d NUMERIC(65,30), e DEC(3,3),"
        " f FIXED(8,4), g DECIMAL(0), h DECIMAL(0,0), i DECIMAL(6,2) UNSIGNED ZEROFILL)",
        "CREATE TABLE floats (a FLOAT, b FLOAT(10), c FLOAT(24), d FLOAT(25), e FLOAT(7,4), f DOUBLE, g DOUBLE(10,2),"
        " h DOUBLE PRECISION, i REAL, j FLOAT4, k FLOAT8, l FLOAT UNSIGNED, m DOUBLE(12,3) UNSIGNED ZEROFILL,"
        " n REAL(8,3))",
        "CREATE TABLE bits (a BIT, b BIT(1), c BIT(8), d BIT(64) NOT NULL)",
        # times
        "CREATE TABLE times (a DATE, b TIME, c TIME(3), d DATETIME, e DATETIME(6), f TIMESTAMP NULL,"
        " g TIMESTAMP(2) NULL DEFAULT NULL, h YEAR, i YEAR(4), j DATETIME(0), k TIME(0) NOT NULL)",
        "CREATE TABLE now (a DATETIME(6) DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6),"
        " b TIMESTAMP NULL DEFAULT NOW() ON UPDATE NOW(), c DATETIME DEFAULT LOCALTIME, d DATETIME DEFAULT"
        " LOCALTIMESTAMP() ON UPDATE LOCALTIMESTAMP)",
        # text
        "CREATE TABLE texts (a CHAR, b CHAR(10), c CHARACTER(3), d VARCHAR(20), e CHARACTER VARYING(30),"
        " f CHAR VARYING(5), g VARCHARACTER(6), h TINYTEXT, i TEXT, j MEDIUMTEXT, k LONGTEXT)",
        "CREATE TABLE texts_sized (a TEXT(10), b TEXT(255), c TEXT(256), d TEXT(65536), e TEXT(16777216),"
        " f BLOB(10), g BLOB(300), h BLOB(70000), i BLOB(16777216), j TEXT(64) CHARACTER SET utf8mb4,"
        " k TEXT(63) CHARACTER SET utf8mb4)",
        "CREATE TABLE national (a NCHAR, b NCHAR(4), c NATIONAL CHAR(5), d NATIONAL CHARACTER(6), e NVARCHAR(7),"
        " f NATIONAL VARCHAR(8), g NATIONAL CHAR VARYING(9), h NCHAR VARCHAR(10), i NCHAR VARYING(11),"
        " j NATIONAL CHARACTER VARYING(12), k NATIONAL VARCHARACTER(13), l NCHAR VARCHARACTER(3))",
        "CREATE TABLE longs (a LONG, b LONG VARCHAR, c LONG VARBINARY, d LONG CHAR VARYING, e LONG CHARACTER VARYING,"
        " f LONG VARCHARACTER, g LONG VARCHAR CHARACTER SET utf8mb4)",
        "CREATE TABLE attributes (a CHAR(3) BYTE, b VARCHAR(4) BYTE, c TEXT BYTE, d CHAR(3) ASCII, e TEXT ASCII,"
        " f CHAR(3) UNICODE, g VARCHAR(3) UNICODE, h CHAR(3) BINARY, i VARCHAR(4) CHARACTER SET utf8mb4 BINARY,"
        " j TEXT BINARY, k CHAR(3) BINARY CHARACTER SET latin2, l CHAR(2) ASCII BINARY, m CHAR(2) BINARY ASCII)",
        "CREATE TABLE charsets (a CHAR(3) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, b VARCHAR(3) CHARSET gbk,"
        " c TEXT CHARACTER SET 'cp1251', d VARCHAR(5) COLLATE utf8mb4_unicode_ci, e CHAR(4) CHAR SET big5,"
        " f VARCHAR(3) COLLATE 'latin2_bin' NOT NULL, g CHAR(2) CHARACTER SET utf8, h CHAR(2) COLLATE utf8_bin,"
        " i ENUM('a') CHARACTER SET utf8mb4, j SET('a','b') COLLATE latin1_bin, k CHAR(5) NOT NULL COLLATE ascii_bin,"
        " l CHAR(3) CHARACTER SET binary, m VARCHAR(3) CHARACTER SET binary, n TEXT CHARACTER SET binary,"
        " o CHAR(3) COLLATE binary, p ENUM('x','y') CHARACTER SET binary)",
        "CREATE TABLE bytes (a BINARY, b BINARY(16), c VARBINARY(255), d TINYBLOB, e BLOB, f MEDIUMBLOB, g LONGBLOB)",
        "CREATE TABLE charset_of_table (a CHAR(3), b TEXT, c BLOB) CHARACTER SET utf8mb4",
        "CREATE TABLE charset_default (a CHAR(3)) ENGINE=InnoDB DEFAULT CHARSET=greek COMMENT='CHARSET=latin2'",
        "CREATE TABLE collation_of_table (a CHAR(3), b VARCHAR(3) CHARACTER SET latin2) COLLATE=utf8mb4_unicode_ci",
        "CREATE TABLE ddl_b.charset_of_database (a CHAR(3), b TEXT, c ENUM('a'))",
        "CREATE TABLE `ddl_b` . `spaced` (a CHAR(3))",
        "CREATE TABLE\tddl_b.tabbed\n(\na\nINT\n)\n",
        # enum and set
        "CREATE TABLE members (a ENUM('x','y''z',\"it's\"), b SET('one', 'two' ,'three'), c ENUM('a,b','(',')'),"
        " d ENUM('trailing  ','x'), e ENUM('back\\\\slash','q\\'uote'), f ENUM(''), g SET(''))",
        "CREATE TABLE members_beyond_ascii (a ENUM('é','ß') CHARACTER SET utf8mb4, b SET('空') CHARSET utf8mb4)",
        "CREATE TABLE members_hex (a ENUM(x'41',0x42,b'1000011'))",
        # geometry
        "CREATE TABLE shapes (a GEOMETRY, b POINT NOT NULL, c LINESTRING, d POLYGON, e MULTIPOINT, f MULTILINESTRING,"
        " g MULTIPOLYGON, h GEOMETRYCOLLECTION)",
        # defaults and attributes
        "CREATE TABLE defaults (a INT DEFAULT 5, b INT DEFAULT -1, c VARCHAR(30) DEFAULT 'it''s, (a) \"b\"',"
        " d DECIMAL(5,2) DEFAULT '1.50', e BIT(4) DEFAULT b'1010', f VARBINARY(4) DEFAULT x'00FF',"
        " g VARBINARY(4) DEFAULT 0x4142, h INT DEFAULT NULL, i INT NULL, j TINYINT(1) DEFAULT TRUE,"
        " k CHAR(1) DEFAULT _latin1'x', l DOUBLE DEFAULT 1.5e3, m CHAR(3) DEFAULT N'abc', n INT DEFAULT +7)",
        "CREATE TABLE default_expressions (a INT DEFAULT (1 + (2 * 3)), b VARCHAR(36) DEFAULT (UUID()),"
        " c CHAR(5) DEFAULT (concat('a)', ',')), d INT)",
        "CREATE TABLE comments (a INT COMMENT 'it''s a, \"b\" (c', b INT COMMENT \"x\") COMMENT 'PRIMARY KEY (a)'",
        "CREATE TABLE formats (b INT NOT NULL UNIQUE, c INT UNIQUE KEY COMMENT 'u')",
        "CREATE TABLE checks (a INT CHECK (a > 0), b INT, CONSTRAINT positive CHECK (b > 0), CHECK ((a + b) < 10))",
        "CREATE TABLE computed (a INT, b INT AS (a + 1), c INT GENERATED ALWAYS AS (a * 2) STORED,"
        " d INT GENERATED ALWAYS AS (a + (b)) VIRTUAL, e VARCHAR(5) AS (concat('x', ')')) VIRTUAL COMMENT 'v')",
        "CREATE TABLE invisible (a INT, b INT INVISIBLE, c INT DEFAULT 3 INVISIBLE COMMENT 'c')",
        "CREATE TABLE auto (id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, b INT) AUTO_INCREMENT=100",
        "CREATE TABLE auto_unique (id INT NULL AUTO_INCREMENT UNIQUE)",
        "CREATE TABLE auto_null (id INT AUTO_INCREMENT NULL UNIQUE)",
        # keys
        "CREATE TABLE key_inline (a INT PRIMARY KEY, b INT)",
        "CREATE TABLE key_bare (a INT KEY, b INT)",
        "CREATE TABLE key_out (a INT, b INT, PRIMARY KEY (b))",
        "CREATE TABLE key_two (a INT, b VARCHAR(30), c INT, PRIMARY KEY (c, b(10) DESC), KEY k (a), INDEX (b))",
        "CREATE TABLE key_named (a INT, CONSTRAINT pk PRIMARY KEY USING BTREE (a) COMMENT 'x', UNIQUE INDEX u (a))",
        "CREATE TABLE key_constraint (a INT, CONSTRAINT PRIMARY KEY (a))",
        "CREATE TABLE key_before (PRIMARY KEY (a), a INT NULL DEFAULT NULL, b INT)",
        "CREATE TABLE key_before (PRIMARY KEY (a), a INT, b INT)",
        "CREATE TABLE key_case (Id INT, PRIMARY KEY (ID))",
        "CREATE TABLE key_many (a INT, b TEXT, c CHAR(10), UNIQUE (a), UNIQUE KEY c (c), FULLTEXT KEY ft (b),"
        " FULLTEXT (c), KEY pre (b(5)), INDEX `PRIMARY_` (a), UNIQUE uu (a, c))",
        "CREATE TABLE unique_order (a INT, b INT NOT NULL, c INT NOT NULL UNIQUE, KEY b (a), UNIQUE (a), UNIQUE (B, c))",
        "ALTER TABLE unique_order DROP INDEX c",
        "ALTER TABLE unique_order MODIFY b INT NULL",
        "ALTER TABLE unique_order DROP KEY a, MODIFY a BIGINT NOT NULL, ADD UNIQUE (a)",
        "ALTER TABLE unique_order CHANGE a aa BIGINT NOT NULL",
        "ALTER TABLE unique_order MODIFY b INT NOT NULL, DROP KEY a",
        "ALTER TABLE unique_order RENAME INDEX b_2 TO bc, RENAME COLUMN b TO bb",
        "DROP INDEX bc ON unique_order",
        "CREATE UNIQUE INDEX u USING BTREE ON unique_order (aa)",
        "ALTER TABLE unique_order ADD d INT NOT NULL UNIQUE FIRST, ADD CONSTRAINT e UNIQUE KEY (bb)",
        "ALTER TABLE unique_order DROP INDEX u, ADD PRIMARY KEY (c)",
        "ALTER TABLE unique_order DROP PRIMARY KEY, DROP COLUMN d",
        "CREATE TABLE unique_prefix (a VARCHAR(30) NOT NULL, b INT NOT NULL, UNIQUE (a(5)), UNIQUE KEY bb (b DESC))",
        "CREATE TABLE unique_copied LIKE unique_prefix",
        "ALTER TABLE unique_copied DROP KEY bb",
        "ALTER TABLE unique_copied ADD UNIQUE (b), ADD UNIQUE (b)",
        "ALTER TABLE unique_copied DROP INDEX b, DROP INDEX b_2",
        "CREATE TABLE parent (id INT PRIMARY KEY)",
        "CREATE TABLE child (id INT PRIMARY KEY, p INT, CONSTRAINT fk FOREIGN KEY fki (p) REFERENCES parent (id)"
        " ON DELETE SET NULL ON UPDATE CASCADE)",
        "CREATE TABLE child_inline (id INT PRIMARY KEY, p INT REFERENCES parent (id) ON DELETE CASCADE, q INT)",
        "CREATE TABLE space_key (id INT, g POINT NOT NULL, SPATIAL KEY (g), SPATIAL INDEX sp (g))",
        # names
        "CREATE TABLE `od``d ta.ble` (`a``b` INT, `select` INT, `größe` INT, größer INT, `空` INT, `with space` INT)",
        "CREATE TABLE words (`key` INT, status INT, type INT, date DATE, time TIME, text TEXT, `order` INT, data INT,"
        " period INT, position INT, value INT, comment INT, first INT, after INT, `primary` INT, year YEAR, names INT)",
        "CREATE TABLE 1digit (1st INT, 2e INT, a$b INT, _x INT)",
        "CREATE TABLE ddl_b.2nd (a INT)",
        "CREATE TABLE CamelCase (Id INT, ID2 INT)",
        "CREATE TABLE quoted_in_ticks (`x\"y` INT, `x'y` INT, `semi;colon` INT, `com--ment` INT, `ha#sh` INT)",
        # comments
        "CREATE TABLE /* a ( comment */ commented ( -- to the line's end, (\n a INT, # another )\n b /* c INT, */ INT)",
        "CREATE /*!32302 TEMPORARY */ TABLE was_temporary (a INT)",
        "/* first */ CREATE TABLE comment_first (a INT)",
        "CREATE TABLE executed (a INT /*!50000 NOT NULL */, /*!40000 b INT, */ c INT) /*!50100 COMMENT 'x' */",
        "CREATE TABLE not_executed (a INT /*!999999 , b INT */, c INT)",
        "CREATE TABLE not_executed_nested (a INT /*!999999 , b /* x */ INT */, c INT)",
        # options and partitions
        "CREATE TABLE options (a INT) ENGINE InnoDB, ROW_FORMAT=DYNAMIC MIN_ROWS 5, STATS_PERSISTENT=DEFAULT"
        " CHECKSUM=1 DEFAULT CHARACTER SET utf8mb4 DEFAULT COLLATE utf8mb4_bin",
        "CREATE TABLE parts (a INT, b DATE) PARTITION BY RANGE (a) (PARTITION p0 VALUES LESS THAN (10) COMMENT 'x',"
        " PARTITION p1 VALUES LESS THAN MAXVALUE)",
        "CREATE TABLE parts_hash (a INT PRIMARY KEY) CHARSET latin2 PARTITION BY HASH (a) PARTITIONS 4",
        "CREATE TABLE parts_list (a INT, b INT) PARTITION BY LIST COLUMNS (a) (PARTITION p VALUES IN (1, 2),"
        " PARTITION q VALUES IN (NULL))",
        "CREATE TABLE parts_sub (a INT, b DATE) PARTITION BY RANGE (YEAR(b)) SUBPARTITION BY HASH (a)"
        " SUBPARTITIONS 2 (PARTITION p0 VALUES LESS THAN (2000))",
        # like, temporary, if not exists
        "CREATE TABLE copied LIKE computed",
        "CREATE TABLE copied_p (LIKE key_two)",
        "CREATE TABLE ddl_b.copied_over LIKE ddl_a.texts",
        "CREATE TABLE IF NOT EXISTS key_out (completely INT, different INT)",
        "CREATE TEMPORARY TABLE key_out (temp INT)",
        "CREATE TEMPORARY TABLE IF NOT EXISTS no_such (temp INT)",
        "DROP TEMPORARY TABLE IF EXISTS key_out",
        # alter: add
        "CREATE TABLE al (a INT, b VARCHAR(10), c CHAR(5) NOT NULL)",
        "ALTER TABLE al ADD d INT",
        "ALTER TABLE al ADD COLUMN e TEXT CHARACTER SET utf8mb4",
        "ALTER TABLE al ADD COLUMN f INT NOT NULL FIRST",
        "ALTER TABLE al ADD g BIGINT UNSIGNED AFTER a",
        "ALTER TABLE al ADD (h INT, i DECIMAL(4,1) DEFAULT 1.5)",
        "ALTER TABLE al ADD COLUMN (j INT, KEY kj (j), k INT)",
        "ALTER TABLE al ADD l INT AFTER a, ADD m INT AFTER l, ADD n INT FIRST, ADD o INT FIRST",
        "alter table al add column `p` varchar(20) default 'x,y' comment 'a, b' after `b`, add q int",
        # alter: change
        "ALTER TABLE al MODIFY a BIGINT",
        "ALTER TABLE al MODIFY COLUMN b TEXT NOT NULL AFTER c",
        "ALTER TABLE al MODIFY d INT FIRST",
        "ALTER TABLE al CHANGE a aa BIGINT NOT NULL",
        "ALTER TABLE al CHANGE COLUMN aa a SMALLINT UNSIGNED AFTER b",
        "ALTER TABLE al CHANGE d d2 VARCHAR(5) AFTER o, CHANGE e d TEXT",
        "ALTER TABLE al RENAME COLUMN f TO ff",
        "ALTER TABLE al RENAME COLUMN g TO h, RENAME COLUMN h TO g",
        "ALTER TABLE al MODIFY i INT AFTER j, MODIFY j INT AFTER k",
        "ALTER TABLE al MODIFY k INT AFTER l, MODIFY l INT AFTER k",
        "ALTER TABLE al ALTER COLUMN i SET DEFAULT 7",
        "ALTER TABLE al ALTER i SET DEFAULT 'x''y'",
        "ALTER TABLE al ALTER i DROP DEFAULT",
        # alter: drop
        "ALTER TABLE al DROP q",
        "ALTER TABLE al DROP COLUMN p, DROP n, DROP COLUMN o",
        "ALTER TABLE al DROP COLUMN m, ADD COLUMN m VARCHAR(3) FIRST",
        "ALTER TABLE al DROP COLUMN l, ADD COLUMN z INT, MODIFY k TEXT, CHANGE j jj INT FIRST",
        "ALTER TABLE al ADD x1 INT, CHANGE z zz INT, ADD x2 INT AFTER zz",
        # alter: keys
        "ALTER TABLE al ADD PRIMARY KEY (jj)",
        "ALTER TABLE al DROP PRIMARY KEY",
        "ALTER TABLE al ADD CONSTRAINT pk PRIMARY KEY USING BTREE (x1, ff), ADD INDEX i1 (zz), ADD UNIQUE u1 (x2)",
        "ALTER TABLE al DROP PRIMARY KEY, ADD PRIMARY KEY (ff)",
        "ALTER TABLE al CHANGE ff f BIGINT",
        "ALTER TABLE al RENAME COLUMN f TO F2",
        "ALTER TABLE al ADD PRIMARY KEY (x1), DROP PRIMARY KEY",
        "DROP INDEX `PRIMARY` ON al",
        "ALTER TABLE al ADD id INT AUTO_INCREMENT PRIMARY KEY FIRST",
        "ALTER TABLE al MODIFY id INT, DROP PRIMARY KEY",
        "ALTER TABLE al ADD KEY (zz), DROP INDEX i1, ADD FULLTEXT ft (k), ADD CONSTRAINT UNIQUE (id)",
        "ALTER TABLE al DROP KEY u1, RENAME INDEX ft TO ft2",
        "ALTER TABLE al ADD CONSTRAINT ck CHECK (zz > 0), ADD CHECK (x1 <> 3)",
        "ALTER TABLE al DROP CONSTRAINT ck",
        "CREATE UNIQUE INDEX created ON al (x1, x2)",
        "CREATE INDEX created2 USING BTREE ON al (zz DESC)",
        "DROP INDEX created ON al",
        "ALTER TABLE key_two DROP COLUMN c",
        "ALTER TABLE copied_p DROP PRIMARY KEY, DROP COLUMN c, ADD PRIMARY KEY (a)",
        # alter: charset
        "ALTER TABLE texts CONVERT TO CHARACTER SET utf8mb4",
        "ALTER TABLE ddl_b.copied_over CONVERT TO CHARACTER SET latin1 COLLATE latin1_bin",
        "ALTER TABLE charset_of_table CONVERT TO CHARSET latin1, ADD d VARCHAR(4)",
        "ALTER TABLE charset_default DEFAULT CHARACTER SET = utf8mb4 COLLATE utf8mb4_bin",
        "ALTER TABLE charset_default ADD b VARCHAR(10), ADD c TEXT CHARACTER SET latin1",
        "ALTER TABLE charset_default MODIFY a CHAR(3)",
        "ALTER TABLE collation_of_table CHARSET cp1251, ENGINE = InnoDB",
        "ALTER TABLE collation_of_table ADD c CHAR(1)",
        "ALTER TABLE collation_of_table CONVERT TO CHARACTER SET DEFAULT",
        "ALTER TABLE attributes CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci",
        "ALTER TABLE members CONVERT TO CHARACTER SET utf8mb4",
        "CREATE TABLE converted_bytes (a CHAR(3), b VARCHAR(4), c TINYTEXT, d LONGTEXT, e BLOB, f ENUM('a'), g INT)",
        "ALTER TABLE converted_bytes CONVERT TO CHARACTER SET binary",
        # what comes with CONVERT TO is converted too, whatever it says of itself
        "CREATE TABLE converted_new (a CHAR(3), b TEXT CHARACTER SET latin2) CHARACTER SET cp1251",
        "ALTER TABLE converted_new ADD c ENUM('x') CHARACTER SET utf8mb4 FIRST, CONVERT TO CHARACTER SET latin1,"
        " ADD (d CHAR(2) COLLATE latin1_bin, e VARCHAR(3) BINARY), ADD f CHAR(2) CHARACTER SET binary, ADD g"
        " ENUM('y') CHARACTER SET binary, ADD h TEXT(100) CHARACTER SET utf8mb4, CHANGE b i TEXT CHARACTER SET utf8mb4,"
        " MODIFY a VARCHAR(9) COLLATE utf8mb4_bin, ADD j NCHAR(2)",
        "ALTER TABLE converted_new MODIFY c ENUM('x') CHARACTER SET latin2, ADD k TEXT(200), CONVERT TO CHARACTER SET"
        " utf8mb4 COLLATE utf8mb4_bin",
        "ALTER DATABASE ddl_b CHARACTER SET greek",
        "CREATE TABLE ddl_b.greek (a CHAR(2))",
        "ALTER SCHEMA `ddl_b` DEFAULT COLLATE = utf8mb4_unicode_ci",
        "CREATE TABLE ddl_b.unicode (a CHAR(2), b CHAR(2) CHARACTER SET latin1)",
        # alter: rename and the rest
        "ALTER TABLE key_bare RENAME key_renamed",
        "ALTER TABLE key_renamed RENAME TO key_renamed2, ADD z INT",
        "ALTER TABLE key_renamed2 RENAME AS ddl_b.moved, CHANGE z y TEXT",
        "ALTER TABLE ddl_b.moved RENAME ddl_a.key_bare",
        "ALTER TABLE options ENGINE=InnoDB, COMMENT 'drop column a', ROW_FORMAT=COMPACT",
        "ALTER TABLE options ENGINE=InnoDB ROW_FORMAT=DYNAMIC, ALGORITHM=COPY, LOCK=SHARED, ADD b INT",
        "ALTER TABLE options FORCE",
        "ALTER TABLE options ORDER BY a, b",
        "ALTER TABLE options DISABLE KEYS, ADD c INT",
        "ALTER TABLE options AUTO_INCREMENT 5 AVG_ROW_LENGTH=10, DROP c",
        "ALTER TABLE child DROP FOREIGN KEY fk, DROP INDEX fk, ADD d INT",
        "ALTER TABLE child DROP FOREIGN KEY fk, ADD d INT",
        "ALTER TABLE child ADD CONSTRAINT fk2 FOREIGN KEY (p) REFERENCES parent (id) ON DELETE SET NULL",
        "ALTER TABLE parts ADD PARTITION (PARTITION p9 VALUES LESS THAN (100))",
        "ALTER TABLE parts_list ADD PARTITION (PARTITION r VALUES IN (7, 8))",
        "ALTER TABLE parts REORGANIZE PARTITION p1 INTO (PARTITION p1 VALUES LESS THAN (100),"
        " PARTITION p2 VALUES LESS THAN MAXVALUE)",
        "ALTER TABLE parts ADD c INT, ALGORITHM=COPY",
        "ALTER TABLE parts DROP PARTITION p0",
        "ALTER TABLE parts TRUNCATE PARTITION p1",
        "CREATE TABLE parts_out (a INT, b DATE, c INT)",
        "ALTER TABLE parts EXCHANGE PARTITION p2 WITH TABLE parts_out",
        "ALTER TABLE parts_out ADD d INT PARTITION BY HASH (a) PARTITIONS 2",
        "ALTER TABLE parts_hash COALESCE PARTITION 1",
        "ALTER TABLE computed DROP d, DROP e, ADD f INT AS (a) VIRTUAL AFTER a, MODIFY c INT AS (a * 3) STORED",
        "ALTER TABLE invisible MODIFY b INT, ADD d INT INVISIBLE FIRST",
        "ALTER/**/TABLE/**/invisible/**/ADD/**/e/**/INT/**/NULL",
        "ALTER TABLE `od``d ta.ble` CHANGE `a``b` `b``a` INT, DROP `空`, ADD `naïve` TEXT",
        "ALTER TABLE words DROP `key`, DROP status, MODIFY type BIGINT, CHANGE date `date 2` DATE, ADD `column` INT",
        "ALTER TABLE camelcase ADD x INT",
        "ALTER TABLE CamelCase ADD x INT",
        "ALTER TABLE CamelCase MODIFY ID BIGINT, DROP id2",
        # rename, drop, truncate
        "RENAME TABLE key_inline TO key_inline2",
        "RENAME TABLE key_inline2 TO tmp, key_out TO key_inline2, tmp TO key_out",
        "RENAME TABLES ddl_a.key_out TO ddl_b.key_out, `ddl_a`.`key_inline2` TO `ddl_b`.`key inline`",
        "TRUNCATE TABLE al",
        "TRUNCATE al",
        "DROP TABLE integers, integers_u",
        "DROP TABLE IF EXISTS no_such_table, ddl_b.`key inline` CASCADE",
        "DROP TABLES decimals RESTRICT",
        "DROP TABLE IF EXISTS `bits` /* generated by server */",
        "CREATE TABLE integers (again INT)",
        # no tables
        "CREATE VIEW v AS SELECT * FROM al",
        "CREATE OR REPLACE VIEW v AS SELECT 1 AS drop_table",
        "ALTER VIEW v AS SELECT 2 AS x",
        "DROP VIEW v",
        "CREATE PROCEDURE p() DROP TABLE al",
        "DROP PROCEDURE p",
        "CREATE TRIGGER tr BEFORE INSERT ON al FOR EACH ROW SET NEW.x1 = 1",
        "DROP TRIGGER tr",
        "CREATE EVENT e ON SCHEDULE EVERY 1 DAY DISABLE DO DROP TABLE al",
        "DROP EVENT e",
        "CREATE FUNCTION f() RETURNS INT DETERMINISTIC RETURN 1",
        "DROP FUNCTION f",
        "ANALYZE TABLE al",
        "INSERT INTO key_constraint VALUES (1)",
    ),
    # sql_mode
    Case('CREATE TABLE "ansi" ("a" INT, "b""c" CHAR(3), `d` ENUM(\'x\'))', sql_mode="ANSI_QUOTES"),
    Case('ALTER TABLE "ddl_a"."ansi" CHANGE "b""c" "e" CHAR(4)', sql_mode="ANSI_QUOTES"),
    Case("CREATE TABLE backslash (a ENUM('\\'), b ENUM('x\\','y'))", sql_mode="NO_BACKSLASH_ESCAPES"),
    Case("CREATE TABLE reals (a REAL, b REAL NOT NULL)", sql_mode="REAL_AS_FLOAT"),
    Case(
        "CREATE TABLE too_long (a VARCHAR(70000), b VARBINARY(70000), c VARCHAR(20000) CHARSET utf8mb4)",
        sql_mode="NO_ENGINE_SUBSTITUTION",
    ),
    *_mysql(
        "CREATE TABLE my_json (a JSON, b JSON NOT NULL, c INT, d JSON DEFAULT (JSON_ARRAY()))",
        "CREATE TABLE my_geometry (a GEOMETRY SRID 4326, b POINT NOT NULL SRID 0, c GEOMCOLLECTION, d POINT SRID 3857)",
        "CREATE TABLE my_vector (a VECTOR, b VECTOR(3) NOT NULL, vector INT)",
        "ALTER TABLE my_vector ADD c VECTOR(16383) FIRST",
        "CREATE TABLE my_functional (a INT, j JSON, KEY f ((a + 1), (a * 2) DESC), INDEX mv"
        " ((CAST(j->'$.x' AS UNSIGNED ARRAY))), UNIQUE KEY ((CAST(j->>'$.y' AS CHAR(9)))))",
        "CREATE TABLE my_storage (a INT STORAGE DISK, b INT STORAGE MEMORY COLUMN_FORMAT DYNAMIC,"
        " c INT SECONDARY_ENGINE_ATTRIBUTE='{\"a\": 1}', d INT NOT SECONDARY)",
        "CREATE TABLE my_check_column (a INT COLUMN_FORMAT FIXED, c INT CONSTRAINT small CHECK (c < 5) NOT NULL)",
        "CREATE TABLE my_check (a INT CHECK (a > 0) NOT ENFORCED, b INT, CHECK (b > 1) ENFORCED)",
        "CREATE TABLE my_invisible (a INT, b INT VISIBLE, c INT /*!80023 INVISIBLE */, d INT /*!99999 NOT NULL */)",
        "ALTER TABLE my_invisible ALTER COLUMN b SET INVISIBLE, ALTER c SET VISIBLE",
        "ALTER TABLE my_invisible ALTER COLUMN a SET DEFAULT (1 + 2), ALTER INDEX no_such INVISIBLE",
        "ALTER TABLE my_invisible ALTER COLUMN a SET DEFAULT (1 + 2), ALGORITHM=INPLACE",
        "ALTER TABLE my_check ALTER CHECK my_check_chk_1 ENFORCED, DROP CHECK my_check_chk_2, ADD c INT",
        "CREATE TABLE my_mariadb_comment (a INT /*M! , b INT */, c INT /*M!100301 INVISIBLE */)",
        "CREATE TABLE my_secondary (a INT PRIMARY KEY) SECONDARY_ENGINE=rapid ENCRYPTION='N'",
        "ALTER TABLE my_secondary SECONDARY_ENGINE=NULL",
        "ALTER TABLE my_secondary AUTOEXTEND_SIZE=4M, ADD b INT",
        "CREATE TABLE my_union (a INT) ENGINE=MERGE UNION=(my_check, my_json) INSERT_METHOD=LAST",
        "CREATE TABLE my_tablespace (a INT, b INT) TABLESPACE `innodb_file_per_table` COMPRESSION='zlib'",
        "ALTER TABLE my_tablespace DISCARD TABLESPACE",
        "ALTER TABLE my_tablespace IMPORT TABLESPACE",
        "CREATE TABLE my_key_column (a INT, b INT, PRIMARY KEY (a) INVISIBLE)",
        "CREATE TABLE my_key_column (a INT, b INT, PRIMARY KEY (a) KEY_BLOCK_SIZE 4 VISIBLE)",
        "CREATE TABLE my_parts (a INT, b INT) PARTITION BY KEY ALGORITHM=2 (a) PARTITIONS 3",
        "ALTER TABLE my_parts PARTITION BY HASH (b)",
        "ALTER TABLE my_parts ADD c INT REMOVE PARTITIONING",
        "ALTER TABLE my_parts WITHOUT VALIDATION, ADD d INT GENERATED ALWAYS AS (a) VIRTUAL",
        "ALTER TABLE my_json DROP COLUMN a, RENAME COLUMN b TO a, ADD b INT FIRST",
        "ALTER TABLE my_json CONVERT TO CHARACTER SET latin1",
        "ALTER DATABASE ddl_b READ ONLY = 0",
        "CREATE TABLE my_utf8 (a CHAR(3) CHARACTER SET utf8mb3, b TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci,"
        " c VARCHAR(3) COLLATE utf8mb4_ja_0900_as_cs)",
        "CREATE TABLE my_ctas_full (a INT PRIMARY KEY, b TEXT) SELECT 1 AS a, 'x' AS c, 2.50 AS d",
        "CREATE TABLE my_ctas AS (SELECT 1 AS a)",
        "CREATE TABLE my_ctas_bare SELECT 1 AS a",
        "CREATE TABLE my_ctas_with AS WITH c AS (SELECT 1 AS a) SELECT * FROM c",
        "CREATE TABLE my_ctas_table TABLE parent",
        "CREATE TABLE my_ctas_values VALUES ROW(1, 2)",
        "ALTER TABLE my_ctas_bare ADD z INT",
        "RENAME TABLE my_ctas_bare TO my_ctas_renamed",
        "DROP TABLE my_ctas_renamed",
        "CREATE TABLE my_ctas_bare (a INT)",
    ),
    *_mariadb(
        "CREATE TABLE ma_types (a JSON, b INET6, c INET4, d UUID NOT NULL, e LONGTEXT, f JSON NOT NULL DEFAULT '{}')",
        "CREATE OR REPLACE TABLE ma_types (a JSON, b INET6 NOT NULL, c INT)",
        "CREATE TABLE ma_versioned (a INT PRIMARY KEY, b INT WITHOUT SYSTEM VERSIONING) WITH SYSTEM VERSIONING",
        "SET STATEMENT system_versioning_alter_history=KEEP FOR ALTER TABLE ma_versioned ADD c INT",
        "SET STATEMENT system_versioning_alter_history=KEEP FOR ALTER TABLE ma_versioned DROP PRIMARY KEY,"
        " ADD PRIMARY KEY (b), ADD d INT AFTER a",
        "ALTER TABLE ma_versioned DROP SYSTEM VERSIONING",
        "ALTER TABLE ma_versioned ADD SYSTEM VERSIONING",
        "CREATE TABLE ma_period (a INT PRIMARY KEY, s TIMESTAMP(6) GENERATED ALWAYS AS ROW START,"
        " e TIMESTAMP(6) GENERATED ALWAYS AS ROW END INVISIBLE, PERIOD FOR SYSTEM_TIME (s, e)) WITH SYSTEM VERSIONING",
        "SET STATEMENT system_versioning_alter_history=KEEP FOR ALTER TABLE ma_period DROP SYSTEM VERSIONING, DROP COLUMN s, DROP COLUMN e",
        "CREATE TABLE ma_period_add (a INT)",
        "ALTER TABLE ma_period_add ADD s TIMESTAMP(6) GENERATED ALWAYS AS ROW START, ADD e TIMESTAMP(6) GENERATED"
        " ALWAYS AS ROW END, ADD PERIOD FOR SYSTEM_TIME(s, e), ADD SYSTEM VERSIONING",
        "CREATE TABLE ma_application (id INT, s DATE, e DATE, PERIOD FOR p (s, e), PRIMARY KEY (id, p WITHOUT OVERLAPS))",
        "CREATE TABLE ma_application2 (id INT, s DATE, e DATE, PERIOD FOR p (s, e), UNIQUE (id, p WITHOUT OVERLAPS))",
        "ALTER TABLE ma_application2 DROP PERIOD FOR p, DROP s",
        "CREATE TABLE ma_compressed (a VARCHAR(100) COMPRESSED, b TEXT COMPRESSED=zlib, c BLOB COMPRESSED NOT NULL)",
        "CREATE TABLE ma_persistent (a INT, b INT AS (a + 1) PERSISTENT, c INT AS (a) PERSISTENT UNIQUE)",
        "CREATE TABLE ma_defaults (a INT DEFAULT (1 + 2), b VARCHAR(40) DEFAULT uuid(), c INT DEFAULT abs(-3),"
        " d DATETIME DEFAULT current_timestamp() ON UPDATE current_timestamp(), e BLOB DEFAULT 'x')",
        "CREATE SEQUENCE ma_sequence",
        "CREATE TABLE ma_sequence_default (a BIGINT DEFAULT NEXT VALUE FOR ma_sequence, b BIGINT DEFAULT"
        " nextval(ddl_a.ma_sequence), c INT)",
        "CREATE SEQUENCE IF NOT EXISTS ma_sequence START WITH 5",
        "CREATE OR REPLACE SEQUENCE ddl_b.`ma seq` START WITH 5 INCREMENT BY 3 CACHE 10 CYCLE ENGINE=InnoDB",
        "ALTER SEQUENCE ma_sequence RESTART 50",
        "RENAME TABLE ddl_b.`ma seq` TO ma_renamed_sequence",
        "DROP SEQUENCE IF EXISTS ma_renamed_sequence, no_such_sequence",
        "CREATE TABLE ma_if (a INT, b INT)",
        "ALTER TABLE ma_if ADD COLUMN IF NOT EXISTS a TEXT, ADD COLUMN IF NOT EXISTS c INT",
        "ALTER TABLE ma_if DROP COLUMN IF EXISTS zz, DROP COLUMN IF EXISTS b",
        "ALTER TABLE ma_if MODIFY IF EXISTS zz INT, MODIFY COLUMN IF EXISTS c BIGINT FIRST",
        "ALTER TABLE ma_if CHANGE COLUMN IF EXISTS zz yy INT, CHANGE IF EXISTS c d INT",
        "ALTER TABLE ma_if RENAME COLUMN IF EXISTS zz TO yy",
        "ALTER TABLE ma_if RENAME COLUMN IF EXISTS d TO e",
        "ALTER TABLE ma_if ALTER COLUMN IF EXISTS zz SET DEFAULT 5, ADD INDEX IF NOT EXISTS i (e)",
        "ALTER TABLE ma_if DROP INDEX IF EXISTS nope, DROP FOREIGN KEY IF EXISTS nope, DROP CONSTRAINT IF EXISTS nope",
        "ALTER TABLE ma_if ADD COLUMN IF NOT EXISTS (f INT, g INT)",
        "ALTER TABLE ma_if DROP COLUMN f, ADD COLUMN IF NOT EXISTS f TEXT",
        "ALTER TABLE ma_if ADD PRIMARY KEY IF NOT EXISTS (e)",
        "ALTER TABLE ma_if ADD PRIMARY KEY IF NOT EXISTS (a)",
        "ALTER TABLE IF EXISTS no_such ADD x INT",
        "ALTER TABLE IF EXISTS ma_if ADD x INT",
        "ALTER ONLINE TABLE ma_if ADD y INT",
        "ALTER IGNORE TABLE ma_if ADD UNIQUE (x)",
        "ALTER ONLINE IGNORE TABLE ma_if DROP y",
        "ALTER TABLE ma_if WAIT 5 ADD y INT",
        "ALTER TABLE ma_if NOWAIT DROP y",
        "RENAME TABLE IF EXISTS no_such TO no_such2, ma_if TO ma_if2",
        "RENAME TABLE ma_if2 WAIT 3 TO ma_if",
        "DROP INDEX IF EXISTS no_such ON ma_if",
        "CREATE INDEX IF NOT EXISTS i ON ma_if (e)",
        "CREATE OR REPLACE INDEX i ON ma_if (e)",
        "CREATE TABLE ma_comment (a INT /*M!100301 INVISIBLE */, b INT /*M! NOT NULL */ /*!50701 , x INT */, c INT"
        " /*!100200 NOT NULL */)",
        "CREATE TABLE ma_encrypted (a INT) ENCRYPTED=NO ENCRYPTION_KEY_ID=1",
        "CREATE TABLE ma_check_row (a INT CHECK (a > 0), b INT, CONSTRAINT c CHECK (a < b))",
        "ALTER TABLE ma_check_row DROP CONSTRAINT IF EXISTS c, ADD CONSTRAINT IF NOT EXISTS d CHECK (b > 0)",
        "CREATE TABLE ma_ignored (a INT, KEY k (a) IGNORED)",
        "ALTER TABLE ma_ignored ALTER INDEX k NOT IGNORED, ADD b INT",
        "CREATE TABLE ma_system_parts (a INT) WITH SYSTEM VERSIONING PARTITION BY SYSTEM_TIME (PARTITION p HISTORY,"
        " PARTITION n CURRENT)",
        "CREATE TABLE ma_collation (a CHAR(3) COLLATE uca1400_ai_ci, b CHAR(3) CHARACTER SET utf8mb4 COLLATE"
        " uca1400_as_cs, c TEXT CHARACTER SET utf8mb3) CHARACTER SET utf8mb4",
        "CREATE TABLE ma_ref (a POINT REF_SYSTEM_ID=4326, b GEOMETRY)",
        "CREATE OR REPLACE DATABASE ddl_c CHARACTER SET = 'cp1250'",
        "CREATE TABLE ddl_c.t (a CHAR(2))",
        "CREATE OR REPLACE TABLE ddl_c.t LIKE ddl_a.key_two",
        "CREATE OR REPLACE TEMPORARY TABLE ddl_c.t (x INT)",
        "CREATE TABLE ma_ctas (a INT) SELECT 1 AS b",
        "CREATE OR REPLACE TABLE ma_ctas (a INT PRIMARY KEY)",
        "CREATE TABLE ma_ctas_ignore (a INT) IGNORE SELECT 1 AS a",
        "CREATE TABLE ma_long_unique (a BLOB UNIQUE, b INT, UNIQUE (b))",
        # a hash of a whole text is no key that rows are told apart by
        "CREATE TABLE ma_long_unique_required (a TEXT NOT NULL, b INT, c INT NOT NULL, UNIQUE (a))",
        "ALTER TABLE ma_long_unique_required ADD UNIQUE (c)",
        "CREATE TABLE ma_long_unique_two (a INT NOT NULL, b BLOB NOT NULL, UNIQUE (a, b))",
        "ALTER DATABASE ddl_c COMMENT 'x' DEFAULT CHARACTER SET latin7",
        "CREATE TABLE ddl_c.latin (a TEXT)",
        "DROP DATABASE ddl_c",
    ),
    Case(
        "CREATE TABLE ma_options (a INT foreign_option='x', b VARCHAR(10) `odd`=5) PAGE_CHECKSUM=1 TRANSACTIONAL=1"
        " ENGINE=Aria `custom`=5",
        "mariadb",
        "IGNORE_BAD_TABLE_OPTIONS",
    ),
    Case(
        "CREATE TABLE ma_oracle (a VARCHAR2(10), b NUMBER(5,2), c NUMBER, d RAW(4), e CLOB, f BLOB, g DATE,"
        ' h mariadb_schema.DATE, "I" INT)',
        "mariadb",
        "ORACLE",
    ),
    *_both(
        # CONVERT leaves the bytes of members as they are
        "CREATE TABLE kept_members (a ENUM('é','x') CHARACTER SET latin1, b SET('é ','ß') CHARACTER SET utf8mb4,"
        " c ENUM('é ') CHARACTER SET binary, d ENUM('ж','x') CHARACTER SET latin1)",
        "ALTER TABLE kept_members CONVERT TO CHARACTER SET latin2",
        "ALTER TABLE kept_members CONVERT TO CHARACTER SET cp1251",
        # a key's prefix of all of a column is the whole column
        "CREATE TABLE prefixes (a VARCHAR(3) NOT NULL, b VARCHAR(10) NOT NULL, c INT NOT NULL, UNIQUE (b(3)),"
        " UNIQUE (a(3)), UNIQUE (c))",
        "ALTER TABLE prefixes MODIFY b VARCHAR(3) NOT NULL",
        "ALTER TABLE prefixes MODIFY b VARCHAR(9) NOT NULL",
        "ALTER TABLE prefixes MODIFY a VARCHAR(3)",
        "ALTER TABLE prefixes MODIFY a VARCHAR(3) NOT NULL",
        # a column in the place of one that is dropped takes over its keys
        "CREATE TABLE replaced (c INT PRIMARY KEY, b INT)",
        "ALTER TABLE replaced ADD COLUMN c VARCHAR(30) FIRST, DROP c",
        # of several names the last one counts
        "ALTER TABLE replaced RENAME TO passing, RENAME TO replaced_again",
        "ALTER TABLE replaced_again RENAME TO passing, ADD d INT, RENAME TO replaced_again",
        # DEFAULT is the database's charset, to MySQL that of the session's database
        "CREATE TABLE ddl_b.defaults (a CHAR(3) CHARACTER SET latin2)",
        "ALTER TABLE ddl_b.defaults CONVERT TO CHARACTER SET DEFAULT",
    ),
    *_mysql(
        # beside CONVERT the size of a TEXT is that of the column before
        "CREATE TABLE resized (a INT, b VARCHAR(300), c TEXT CHARACTER SET latin1, d TINYBLOB, e LONGTEXT, f JSON)",
        "ALTER TABLE resized CONVERT TO CHARACTER SET utf8mb4, MODIFY a MEDIUMTEXT, MODIFY b BLOB, MODIFY c TEXT,"
        " MODIFY d MEDIUMTEXT, MODIFY e TEXT, MODIFY f TINYTEXT",
        "CREATE TABLE virtual_key (a INT NOT NULL, b INT AS (a + 1) VIRTUAL NOT NULL, UNIQUE (b))",
        "ALTER TABLE virtual_key ADD UNIQUE (a)",
        "CREATE TABLE generated_key (my_row_id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT INVISIBLE, a INT, b INT,"
        " PRIMARY KEY (my_row_id))",
        "ALTER TABLE generated_key ADD c INT FIRST, MODIFY b INT FIRST",
        "ALTER TABLE generated_key DROP PRIMARY KEY, DROP my_row_id, ADD d INT FIRST",
    ),
    *_mariadb(
        # beside CONVERT the table's own charset is the default still
        "CREATE TABLE ma_converted (a CHAR(3), b CHAR(3) CHARACTER SET utf8mb4)",
        "ALTER TABLE ma_converted COLLATE utf8mb4_bin, CONVERT TO CHARACTER SET latin2, ADD c CHAR(3)",
        "ALTER TABLE ma_converted ADD d CHAR(3)",
        "ALTER TABLE ma_converted CONVERT TO CHARACTER SET utf8mb3, COLLATE binary, ADD e TEXT, MODIFY a CHAR(4)",
        "CREATE TABLE ma_twice (a INT, b INT)",
        "ALTER TABLE ma_twice ADD IF NOT EXISTS c INT, ADD IF NOT EXISTS C BIGINT FIRST",
        "ALTER TABLE ma_twice CHANGE a d INT FIRST, ADD IF NOT EXISTS D BIGINT AFTER nowhere",
        "ALTER TABLE ma_twice ADD PRIMARY KEY (b)",
        "ALTER TABLE ma_twice MODIFY IF EXISTS c INT NULL KEY",
        "ALTER TABLE ma_twice ADD IF NOT EXISTS e INT KEY, DROP PRIMARY KEY",
    ),
    *_mariadb(
        # a period in keys, made before them
        "CREATE TABLE ma_period_later (id INT, s DATE, e DATE)",
        "ALTER TABLE ma_period_later ADD PERIOD FOR p (s, e)",
        "ALTER TABLE ma_period_later ADD PRIMARY KEY (id, p WITHOUT OVERLAPS)",
        "ALTER TABLE ma_period_later DROP PRIMARY KEY, ADD UNIQUE (id, p WITHOUT OVERLAPS)",
        "ALTER TABLE ma_period_later MODIFY id INT NOT NULL",
        # what DEFAULT means: the database's charset, and the server's
        "CREATE TABLE ma_default_charset (a CHAR(3)) CHARACTER SET latin2",
        "ALTER TABLE ma_default_charset CHARACTER SET DEFAULT, ADD b CHAR(3)",
        "ALTER TABLE ma_default_charset CHARACTER SET latin2 COLLATE latin2_bin",
        "ALTER TABLE ma_default_charset ADD c CHAR(3) COLLATE DEFAULT, ADD d CHAR(3) CHARACTER SET utf8mb4 COLLATE DEFAULT",
        "ALTER TABLE ma_default_charset COLLATE = DEFAULT, ADD e CHAR(3)",
        "CREATE DATABASE ddl_c CHARACTER SET ucs2",
        "CREATE TABLE ddl_c.t (a CHAR(3), b CHAR(3) COLLATE uca1400_as_cs) COLLATE uca1400_ai_ci",
        "ALTER TABLE ddl_c.t COLLATE uca1400_as_ci, ADD c CHAR(3)",
        "ALTER TABLE ddl_c.t CONVERT TO CHARACTER SET utf16 COLLATE uca1400_ai_ci",
        "ALTER DATABASE ddl_c COLLATE uca1400_as_cs",
        "CREATE TABLE ddl_c.u (a CHAR(3))",
        "ALTER DATABASE ddl_c CHARACTER SET DEFAULT",
        "CREATE TABLE ddl_c.v (a CHAR(3))",
        # a database that replaces another one has none of its tables
        "CREATE OR REPLACE DATABASE ddl_c CHARACTER SET latin2",
        "CREATE TABLE ddl_c.w (a CHAR(3))",
        "DROP DATABASE ddl_c",
        "CREATE TABLE ma_qualified (a oracle_schema.DATE, b mariadb_schema.DATE, c maxdb_schema.TIMESTAMP,"
        " d mariadb_schema.TIMESTAMP(2))",
        "CREATE TABLE ma_year (a YEAR(2), b YEAR(4) UNSIGNED, c YEAR ZEROFILL NOT NULL)",
    ),
    Case(
        "CREATE TABLE ma_maxdb (a TIMESTAMP, b TIMESTAMP(3) NOT NULL, c mariadb_schema.TIMESTAMP)",
        "mariadb",
        "MAXDB",
    ),
    Case(
        "CREATE TABLE grown (a VARCHAR(30000), b VARCHAR(9000), c TEXT) CHARACTER SET latin1",
        sql_mode="NO_ENGINE_SUBSTITUTION",
    ),
    # what no VARCHAR can have becomes a TEXT
    Case("ALTER TABLE grown CONVERT TO CHARACTER SET utf8mb4", sql_mode="NO_ENGINE_SUBSTITUTION"),
    Case("ALTER TABLE grown CONVERT TO CHARACTER SET latin1", sql_mode="NO_ENGINE_SUBSTITUTION"),
    *_both("DROP DATABASE IF EXISTS ddl_b", "CREATE TABLE IF NOT EXISTS last (a INT)"),
]
