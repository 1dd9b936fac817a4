Text in many charsets, in CHAR, VARCHAR and TEXT, with a default charset and columns that differ from it.

-- before
SET GLOBAL binlog_row_metadata = FULL;

-- log
CREATE DATABASE small; USE small;
CREATE TABLE west (id INT PRIMARY KEY, latin1 VARCHAR(20) CHARACTER SET latin1, latin2 CHAR(20) CHARACTER SET latin2,
latin5 TEXT CHARACTER SET latin5, latin7 VARCHAR(20) CHARACTER SET latin7, ascii VARCHAR(300) CHARACTER SET ascii,
cp850 CHAR(9) CHARACTER SET cp850, cp1250 VARCHAR(20) CHARACTER SET cp1250, greek VARCHAR(20) CHARACTER SET greek,
hebrew VARCHAR(20) CHARACTER SET hebrew, utf8mb3 CHAR(30) CHARACTER SET utf8mb3, utf8mb4 CHAR(255) CHARACTER SET utf8mb4,
bytes VARBINARY(20)) CHARSET latin1;
INSERT INTO west VALUES (1, 'café € ÿ', 'Łódź ', 'ığş', 'žąę', 'plain', 'é½ß', 'Žluťouč', 'αβγ', 'שלום', 'é浩', '🍀é', 'é'),
(2, '', '', '', '', '', '', '', '', '', '', '', ''), (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
CREATE TABLE east (id INT PRIMARY KEY, cp1251 VARCHAR(20) CHARACTER SET cp1251, koi8r VARCHAR(20) CHARACTER SET koi8r,
koi8u CHAR(9) CHARACTER SET koi8u, gbk VARCHAR(200) CHARACTER SET gbk, gb2312 CHAR(20) CHARACTER SET gb2312,
gb18030 TEXT CHARACTER SET gb18030, big5 VARCHAR(20) CHARACTER SET big5, sjis VARCHAR(20) CHARACTER SET sjis,
cp932 CHAR(20) CHARACTER SET cp932, ujis TEXT CHARACTER SET ujis, eucjpms VARCHAR(20) CHARACTER SET eucjpms,
euckr VARCHAR(20) CHARACTER SET euckr, tis620 VARCHAR(20) CHARACTER SET tis620) CHARSET gbk;
INSERT INTO east VALUES (1, 'Привет', 'Привет', 'Їжак', '中文 ', '中文', '中文🍀', '中文功', '表ソ能', '表①', '日本語', '日本語①', '한국어', 'ไทย'),
(2, '', '', '', '', '', '', '', '', '', '', '', '', ''),
(3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
CREATE TABLE wide (id INT PRIMARY KEY, ucs2 VARCHAR(20) CHARACTER SET ucs2, utf16 CHAR(20) CHARACTER SET utf16,
utf16le TEXT CHARACTER SET utf16le, utf32 VARCHAR(200) CHARACTER SET utf32, e ENUM('é', '浩') CHARACTER SET utf16,
s SET('я', 'z') CHARACTER SET cp1251) CHARSET ucs2;
INSERT INTO wide VALUES (1, 'é浩', 'é🍀', 'é🍀', 'é🍀', '浩', 'я,z'), (2, '', '', '', '', 'é', ''), (3, NULL, NULL, NULL, NULL, NULL, NULL);
UPDATE west SET utf8mb4 = latin1, latin1 = 'changed ÿ'; UPDATE east SET gbk = REPEAT('中', 150) WHERE id = 1;
DELETE FROM wide WHERE id = 2;

-- after
SET GLOBAL binlog_row_metadata = MINIMAL;
