LOAD DATA in statement format: the file's bytes are in the log, in more than one block; then once more in row format.

-- before
SET GLOBAL max_allowed_packet = 17408;

-- log
CREATE DATABASE small; USE small;
CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(40), rest VARCHAR(200));
SET SESSION binlog_format = STATEMENT;
LOAD DATA LOCAL INFILE 'load_data.tsv' INTO TABLE t CHARACTER SET utf8mb4 FIELDS TERMINATED BY '\t' LINES TERMINATED BY '\n'
IGNORE 1 LINES (id, @name, rest) SET name = CONCAT('<', @name, '>');
SET SESSION binlog_format = ROW;
CREATE TABLE of_rows LIKE t;
LOAD DATA LOCAL INFILE 'load_data.tsv' INTO TABLE of_rows CHARACTER SET utf8mb4 LINES TERMINATED BY '\n' IGNORE 146 LINES;

-- after
SET GLOBAL max_allowed_packet = DEFAULT;
