-- Views as of load 1; each writes this file again. If the folder is elsewhere, change the next line.
SET `binx_folder_c24c083d`=`/tmp/binx-contracts/tables-13`;

CREATE OR REPLACE TEMPORARY VIEW `_loads` AS
SELECT * FROM parquet.`${binx_folder_c24c083d}/_loads/2026-11-29.parquet`;

CREATE OR REPLACE TEMPORARY VIEW `shop_payments` AS
SELECT * FROM parquet.`${binx_folder_c24c083d}/shop/payments/current/2db10f0da0fa40079abb72a1e171f157.parquet`;

CREATE OR REPLACE TEMPORARY VIEW `shop_payments_versions` AS
SELECT * FROM parquet.`${binx_folder_c24c083d}/shop/payments/scd2/85677675a5be40fe972a6daa36ab4a28.parquet`;

CREATE OR REPLACE TEMPORARY VIEW `shop_payments_history` AS
SELECT `_change_type`, `_commit_version`, `_commit_timestamp`, `_row`, `_transaction`, `_event_timestamp`, `_position`, `_statement`, `_present`, `_json_diff`, `_misfits`, '97:mysql-bin' AS _chain, 'cf009b7f' AS _schema_version, named_struct('chain', 0, 'commit_version', _commit_version, 'row', _row, 'after', _change_type = 'update_postimage') AS _order, `id` AS `id`, `order_id` AS `order_id`, `amount` AS `amount`, `method` AS `method`, `reference` AS `reference`, `paid_at` AS `paid_at`, `answer` AS `answer`
FROM parquet.`${binx_folder_c24c083d}/{shop/payments/history/version=cf009b7f/chain=97%3Amysql-bin/commit_date=2026-11-21/6e61cafac785447fb00b2d85e66ef053.parquet,shop/payments/history/version=cf009b7f/chain=97%3Amysql-bin/commit_date=2026-11-21/648cf215eec746ce83c17dc60e38307a.parquet}`;

CREATE OR REPLACE TEMPORARY VIEW `shop_products` AS
SELECT * FROM parquet.`${binx_folder_c24c083d}/shop/products/current/b00b635a2908444894465ec189b797dd.parquet`;

CREATE OR REPLACE TEMPORARY VIEW `shop_products_versions` AS
SELECT * FROM parquet.`${binx_folder_c24c083d}/{shop/products/scd2/dc5f5b7472b44dfeaf47a2767578b162.parquet,shop/products/scd2/08fe05dfd3c14ef79f92a8834008038f.parquet,shop/products/scd2/43e970a0fbd2410992ea41c1a6e4bca4.parquet}`;

CREATE OR REPLACE TEMPORARY VIEW `shop_products_history` AS
SELECT `_change_type`, `_commit_version`, `_commit_timestamp`, `_row`, `_transaction`, `_event_timestamp`, `_position`, `_statement`, `_present`, `_json_diff`, CAST(NULL AS MAP<STRING, STRING>) AS `_misfits`, '97:mysql-bin' AS _chain, '58c24f72' AS _schema_version, named_struct('chain', 0, 'commit_version', _commit_version, 'row', _row, 'after', _change_type = 'update_postimage') AS _order, `id` AS `id`, `sku` AS `sku`, `title` AS `title`, `description` AS `description`, `price` AS `price`, `weight` AS `weight`, `volume` AS `volume`, CAST(`stock` AS BIGINT) AS `stock`, `picture` AS `picture`, `since` AS `since`, `opens` AS `opens`, `attributes` AS `attributes`, `cents` AS `cents`
FROM parquet.`${binx_folder_c24c083d}/{shop/products/history/version=58c24f72/chain=97%3Amysql-bin/commit_date=2026-11-21/05e34b58ddcb41858041d7358195226b.parquet,shop/products/history/version=58c24f72/chain=97%3Amysql-bin/commit_date=2026-11-21/d5d9bdce33b949aa8022f7221002731c.parquet}`
UNION ALL
SELECT `_change_type`, `_commit_version`, `_commit_timestamp`, `_row`, `_transaction`, `_event_timestamp`, `_position`, `_statement`, `_present`, `_json_diff`, CAST(NULL AS MAP<STRING, STRING>) AS `_misfits`, '97:mysql-bin' AS _chain, '6bf96c86' AS _schema_version, named_struct('chain', 0, 'commit_version', _commit_version, 'row', _row, 'after', _change_type = 'update_postimage') AS _order, `id` AS `id`, `sku` AS `sku`, `title` AS `title`, `description` AS `description`, `price` AS `price`, `weight` AS `weight`, `volume` AS `volume`, `stock` AS `stock`, `picture` AS `picture`, `since` AS `since`, `opens` AS `opens`, `attributes` AS `attributes`, `cents` AS `cents`
FROM parquet.`${binx_folder_c24c083d}/shop/products/history/version=6bf96c86/chain=97%3Amysql-bin/commit_date=2026-11-21/f6d5e4c08b454f248794b8ae4cc63766.parquet`;

CREATE OR REPLACE TEMPORARY VIEW `shop_visits` AS
SELECT * FROM parquet.`${binx_folder_c24c083d}/shop/visits/current/e2e5703ce5e84faba78910e35ef54aaa.parquet`;

CREATE OR REPLACE TEMPORARY VIEW `shop_visits_versions` AS
SELECT * FROM parquet.`${binx_folder_c24c083d}/shop/visits/scd2/4d836e7913d044799647011a171755f7.parquet`;

CREATE OR REPLACE TEMPORARY VIEW `shop_visits_history` AS
SELECT `_change_type`, `_commit_version`, `_commit_timestamp`, `_row`, `_transaction`, `_event_timestamp`, `_position`, `_statement`, `_present`, CAST(NULL AS STRING) AS `_json_diff`, `_misfits`, '97:mysql-bin' AS _chain, '11f85c3b' AS _schema_version, named_struct('chain', 0, 'commit_version', _commit_version, 'row', _row, 'after', _change_type = 'update_postimage') AS _order, `id` AS `id`, `page` AS `page`, `seen_at` AS `seen_at`
FROM parquet.`${binx_folder_c24c083d}/{shop/visits/history/version=11f85c3b/chain=97%3Amysql-bin/commit_date=2026-11-21/908ab82bc1d349fbb77180c2ddd1dd4c.parquet,shop/visits/history/version=11f85c3b/chain=97%3Amysql-bin/commit_date=2026-11-21/7a60bb05e8cb4d87929525606dc66054.parquet}`;

CREATE OR REPLACE TEMPORARY VIEW `shop_vouchers` AS
SELECT * FROM parquet.`${binx_folder_c24c083d}/shop/vouchers/current/b228d4feb911450198660612915a1ec7.parquet`;

CREATE OR REPLACE TEMPORARY VIEW `shop_vouchers_versions` AS
SELECT * FROM parquet.`${binx_folder_c24c083d}/shop/vouchers/scd2/7338f90898e64045b026773f4709244b.parquet`;

