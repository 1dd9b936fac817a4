-- Views as of load 1; each writes this file again. If the folder is elsewhere, change the next line.
SET `binx_folder_d063d665`=`/tmp/binx-contracts/tables-12`;

CREATE OR REPLACE TEMPORARY VIEW `shop_payments` AS
SELECT * FROM parquet.`${binx_folder_d063d665}/shop/payments/current/74b81dec6e974748b2996c0a423a3318.parquet`;

CREATE OR REPLACE TEMPORARY VIEW `shop_payments_versions` AS
SELECT * FROM parquet.`${binx_folder_d063d665}/shop/payments/scd2/e5dbc948a8374a82b18ef297c6827e8b.parquet`;

CREATE OR REPLACE TEMPORARY VIEW `shop_payments_history` AS
SELECT `_change_type`, `_commit_version`, `_commit_timestamp`, `_row`, `_transaction`, `_event_timestamp`, `_position`, `_statement`, `_present`, `_json_diff`, `_misfits`, '97:mysql-bin' AS _chain, 'cf009b7f' AS _schema_version, named_struct('chain', 0, 'commit_version', _commit_version, 'row', _row, 'after', _change_type = 'update_postimage') AS _order, `id` AS `id`, `order_id` AS `order_id`, `amount` AS `amount`, `method` AS `method`, `reference` AS `reference`, `paid_at` AS `paid_at`, `answer` AS `answer`
FROM parquet.`${binx_folder_d063d665}/{shop/payments/history/version=cf009b7f/chain=97%3Amysql-bin/commit_date=2026-11-21/d2a96a145986427594b0d246c8f61792.parquet,shop/payments/history/version=cf009b7f/chain=97%3Amysql-bin/commit_date=2026-11-21/ada09d03a4c943839faedd923e0747e1.parquet}`;

CREATE OR REPLACE TEMPORARY VIEW `shop_products` AS
SELECT * FROM parquet.`${binx_folder_d063d665}/shop/products/current/500f960f2c0b41028b7f41dc6d704100.parquet`;

CREATE OR REPLACE TEMPORARY VIEW `shop_products_versions` AS
SELECT * FROM parquet.`${binx_folder_d063d665}/{shop/products/scd2/8d0b9573690f428c98fd67eb7107b0cd.parquet,shop/products/scd2/47c3421b94f340b8992a01d8956774b7.parquet,shop/products/scd2/183d402bd9c64702b466d05034bc1f66.parquet}`;

CREATE OR REPLACE TEMPORARY VIEW `shop_products_history` AS
SELECT `_change_type`, `_commit_version`, `_commit_timestamp`, `_row`, `_transaction`, `_event_timestamp`, `_position`, `_statement`, `_present`, `_json_diff`, CAST(NULL AS MAP<STRING, STRING>) AS `_misfits`, '97:mysql-bin' AS _chain, '58c24f72' AS _schema_version, named_struct('chain', 0, 'commit_version', _commit_version, 'row', _row, 'after', _change_type = 'update_postimage') AS _order, `id` AS `id`, `sku` AS `sku`, `title` AS `title`, `description` AS `description`, `price` AS `price`, `weight` AS `weight`, `volume` AS `volume`, CAST(`stock` AS BIGINT) AS `stock`, `picture` AS `picture`, `since` AS `since`, `opens` AS `opens`, `attributes` AS `attributes`, `cents` AS `cents`
FROM parquet.`${binx_folder_d063d665}/{shop/products/history/version=58c24f72/chain=97%3Amysql-bin/commit_date=2026-11-21/4129a598f2dc4930acad3d466b057c16.parquet,shop/products/history/version=58c24f72/chain=97%3Amysql-bin/commit_date=2026-11-21/cea4a19cc9f2484f874c1128b44681e7.parquet}`
UNION ALL
SELECT `_change_type`, `_commit_version`, `_commit_timestamp`, `_row`, `_transaction`, `_event_timestamp`, `_position`, `_statement`, `_present`, `_json_diff`, CAST(NULL AS MAP<STRING, STRING>) AS `_misfits`, '97:mysql-bin' AS _chain, '6bf96c86' AS _schema_version, named_struct('chain', 0, 'commit_version', _commit_version, 'row', _row, 'after', _change_type = 'update_postimage') AS _order, `id` AS `id`, `sku` AS `sku`, `title` AS `title`, `description` AS `description`, `price` AS `price`, `weight` AS `weight`, `volume` AS `volume`, `stock` AS `stock`, `picture` AS `picture`, `since` AS `since`, `opens` AS `opens`, `attributes` AS `attributes`, `cents` AS `cents`
FROM parquet.`${binx_folder_d063d665}/shop/products/history/version=6bf96c86/chain=97%3Amysql-bin/commit_date=2026-11-21/ee2c178661eb44c48fada1baa710abce.parquet`;

CREATE OR REPLACE TEMPORARY VIEW `shop_visits` AS
SELECT * FROM parquet.`${binx_folder_d063d665}/shop/visits/current/b129feb7b9354e2fa4ecca54321cf260.parquet`;

CREATE OR REPLACE TEMPORARY VIEW `shop_visits_versions` AS
SELECT * FROM parquet.`${binx_folder_d063d665}/shop/visits/scd2/791e49e567c34b2db020fd292b9ee209.parquet`;

CREATE OR REPLACE TEMPORARY VIEW `shop_visits_history` AS
SELECT `_change_type`, `_commit_version`, `_commit_timestamp`, `_row`, `_transaction`, `_event_timestamp`, `_position`, `_statement`, `_present`, CAST(NULL AS STRING) AS `_json_diff`, `_misfits`, '97:mysql-bin' AS _chain, '11f85c3b' AS _schema_version, named_struct('chain', 0, 'commit_version', _commit_version, 'row', _row, 'after', _change_type = 'update_postimage') AS _order, `id` AS `id`, `page` AS `page`, `seen_at` AS `seen_at`
FROM parquet.`${binx_folder_d063d665}/{shop/visits/history/version=11f85c3b/chain=97%3Amysql-bin/commit_date=2026-11-21/a653253539af435db78affd0faf592bd.parquet,shop/visits/history/version=11f85c3b/chain=97%3Amysql-bin/commit_date=2026-11-21/52c12d2cd8384870a2c34dde095563d6.parquet}`;

CREATE OR REPLACE TEMPORARY VIEW `shop_vouchers` AS
SELECT * FROM parquet.`${binx_folder_d063d665}/shop/vouchers/current/fcf3aca4d859446e898fac8bd85384ce.parquet`;

CREATE OR REPLACE TEMPORARY VIEW `shop_vouchers_versions` AS
SELECT * FROM parquet.`${binx_folder_d063d665}/shop/vouchers/scd2/f9f9c65426b945379296cfaa2728df77.parquet`;

