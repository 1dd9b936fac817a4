-- Views as of load 1; each writes this file again. If the folder is elsewhere, change the next line.
SET `binx_folder_0d184504`=`/tmp/binx-contracts/tables-11`;

CREATE OR REPLACE TEMPORARY VIEW `shop_payments` AS
SELECT * FROM parquet.`${binx_folder_0d184504}/shop/payments/current/01b3d8bb736e432a8e894de137fe1e51.parquet`;

CREATE OR REPLACE TEMPORARY VIEW `shop_payments_versions` AS
SELECT * FROM parquet.`${binx_folder_0d184504}/shop/payments/scd2/2451a844fa9545659e3b7256824a47e6.parquet`;

CREATE OR REPLACE TEMPORARY VIEW `shop_payments_history` AS
SELECT `_change_type`, `_commit_version`, `_commit_timestamp`, `_row`, `_transaction`, `_event_timestamp`, `_position`, `_statement`, `_present`, `_json_diff`, `_misfits`, '97:mysql-bin' AS _chain, 'cf009b7f' AS _schema_version, `id` AS `id`, `order_id` AS `order_id`, `amount` AS `amount`, `method` AS `method`, `reference` AS `reference`, `paid_at` AS `paid_at`, `answer` AS `answer`
FROM parquet.`${binx_folder_0d184504}/{shop/payments/history/version=cf009b7f/chain=97%3Amysql-bin/commit_date=2026-11-21/0d73f2830e304b56bf152f9a18b9db23.parquet,shop/payments/history/version=cf009b7f/chain=97%3Amysql-bin/commit_date=2026-11-21/ddec08f85ccc4bc7ba5deb00d52246f2.parquet}`;

CREATE OR REPLACE TEMPORARY VIEW `shop_products` AS
SELECT * FROM parquet.`${binx_folder_0d184504}/shop/products/current/47b122d5ad9b458f9ef2608fd0eb418c.parquet`;

CREATE OR REPLACE TEMPORARY VIEW `shop_products_versions` AS
SELECT * FROM parquet.`${binx_folder_0d184504}/{shop/products/scd2/174e4e58c8a44d67b72dd283baff15b6.parquet,shop/products/scd2/77b7777a34cc455d8177cfcf07a234be.parquet,shop/products/scd2/f86fb37912fe4466bdc90fe30183c820.parquet}`;

CREATE OR REPLACE TEMPORARY VIEW `shop_products_history` AS
SELECT `_change_type`, `_commit_version`, `_commit_timestamp`, `_row`, `_transaction`, `_event_timestamp`, `_position`, `_statement`, `_present`, `_json_diff`, CAST(NULL AS MAP<STRING, STRING>) AS `_misfits`, '97:mysql-bin' AS _chain, '58c24f72' AS _schema_version, `id` AS `id`, `sku` AS `sku`, `title` AS `title`, `description` AS `description`, `price` AS `price`, `weight` AS `weight`, `volume` AS `volume`, CAST(`stock` AS BIGINT) AS `stock`, `picture` AS `picture`, `since` AS `since`, `opens` AS `opens`, `attributes` AS `attributes`, `cents` AS `cents`
FROM parquet.`${binx_folder_0d184504}/{shop/products/history/version=58c24f72/chain=97%3Amysql-bin/commit_date=2026-11-21/fa6ee7ba60564fafaf3e01032cdb840e.parquet,shop/products/history/version=58c24f72/chain=97%3Amysql-bin/commit_date=2026-11-21/919303eac5c74088807fb657eb912f67.parquet}`
UNION ALL
SELECT `_change_type`, `_commit_version`, `_commit_timestamp`, `_row`, `_transaction`, `_event_timestamp`, `_position`, `_statement`, `_present`, `_json_diff`, CAST(NULL AS MAP<STRING, STRING>) AS `_misfits`, '97:mysql-bin' AS _chain, '6bf96c86' AS _schema_version, `id` AS `id`, `sku` AS `sku`, `title` AS `title`, `description` AS `description`, `price` AS `price`, `weight` AS `weight`, `volume` AS `volume`, `stock` AS `stock`, `picture` AS `picture`, `since` AS `since`, `opens` AS `opens`, `attributes` AS `attributes`, `cents` AS `cents`
FROM parquet.`${binx_folder_0d184504}/shop/products/history/version=6bf96c86/chain=97%3Amysql-bin/commit_date=2026-11-21/c80565f2c71f43e795895bec9517bdf7.parquet`;

CREATE OR REPLACE TEMPORARY VIEW `shop_visits` AS
SELECT * FROM parquet.`${binx_folder_0d184504}/shop/visits/current/806bb4a03e0a4a559716a4f4a80397c5.parquet`;

CREATE OR REPLACE TEMPORARY VIEW `shop_visits_versions` AS
SELECT * FROM parquet.`${binx_folder_0d184504}/shop/visits/scd2/e81225bea5ea4f2abf6ca44ad0245d51.parquet`;

CREATE OR REPLACE TEMPORARY VIEW `shop_visits_history` AS
SELECT `_change_type`, `_commit_version`, `_commit_timestamp`, `_row`, `_transaction`, `_event_timestamp`, `_position`, `_statement`, `_present`, CAST(NULL AS STRING) AS `_json_diff`, `_misfits`, '97:mysql-bin' AS _chain, '11f85c3b' AS _schema_version, `id` AS `id`, `page` AS `page`, `seen_at` AS `seen_at`
FROM parquet.`${binx_folder_0d184504}/{shop/visits/history/version=11f85c3b/chain=97%3Amysql-bin/commit_date=2026-11-21/4e68b9534fc74909a0651351bc122037.parquet,shop/visits/history/version=11f85c3b/chain=97%3Amysql-bin/commit_date=2026-11-21/1690c1e7a95c4e2aba4a199fa8440f2a.parquet}`;

CREATE OR REPLACE TEMPORARY VIEW `shop_vouchers` AS
SELECT * FROM parquet.`${binx_folder_0d184504}/shop/vouchers/current/0588241931d14537a33784df4854c2ba.parquet`;

CREATE OR REPLACE TEMPORARY VIEW `shop_vouchers_versions` AS
SELECT * FROM parquet.`${binx_folder_0d184504}/shop/vouchers/scd2/bc102e145ff74e7791ef4862ed6300ba.parquet`;

