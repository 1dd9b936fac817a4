-- Views as of load 1; each writes this file anew.

CREATE OR REPLACE TEMPORARY VIEW `shop_payments` AS
SELECT * FROM parquet.`/tmp/binx-contracts/tables-10/shop/payments/current/04fd5a6ba6c34c54b568ab13fec2ffd3.parquet`;

CREATE OR REPLACE TEMPORARY VIEW `shop_payments_versions` AS
SELECT * FROM parquet.`/tmp/binx-contracts/tables-10/shop/payments/scd2/bd51cbe7f93840d594bc86f56013b656.parquet`;

CREATE OR REPLACE TEMPORARY VIEW `shop_payments_history` AS
SELECT `_change_type`, `_commit_version`, `_commit_timestamp`, `_row`, `_transaction`, `_event_timestamp`, `_position`, `_statement`, `_present`, `_json_diff`, `_misfits`, '97:mysql-bin' AS _chain, 'cf009b7f' AS _schema_version, `id` AS `id`, `order_id` AS `order_id`, `amount` AS `amount`, `method` AS `method`, `reference` AS `reference`, `paid_at` AS `paid_at`, `answer` AS `answer`
FROM parquet.`/tmp/binx-contracts/tables-10/{shop/payments/history/version=cf009b7f/chain=97%3Amysql-bin/commit_date=2026-11-21/3a29e4919230412da6ea58216f751540.parquet,shop/payments/history/version=cf009b7f/chain=97%3Amysql-bin/commit_date=2026-11-21/bb5691704b414d1381b1e6fdea12b942.parquet}`;

CREATE OR REPLACE TEMPORARY VIEW `shop_products` AS
SELECT * FROM parquet.`/tmp/binx-contracts/tables-10/shop/products/current/b7a640f995904cfaaeb0aed987ee2804.parquet`;

CREATE OR REPLACE TEMPORARY VIEW `shop_products_versions` AS
SELECT * FROM parquet.`/tmp/binx-contracts/tables-10/{shop/products/scd2/8aa5e7ef3914410cbce9bac70737f69d.parquet,shop/products/scd2/2fab0401e3024e9fb8526069cf3bb2c0.parquet,shop/products/scd2/116abf45987742a4872a70c8e1c6e624.parquet}`;

CREATE OR REPLACE TEMPORARY VIEW `shop_products_history` AS
SELECT `_change_type`, `_commit_version`, `_commit_timestamp`, `_row`, `_transaction`, `_event_timestamp`, `_position`, `_statement`, `_present`, `_json_diff`, CAST(NULL AS MAP<STRING, STRING>) AS `_misfits`, '97:mysql-bin' AS _chain, '58c24f72' AS _schema_version, `id` AS `id`, `sku` AS `sku`, `title` AS `title`, `description` AS `description`, `price` AS `price`, `weight` AS `weight`, `volume` AS `volume`, CAST(`stock` AS BIGINT) AS `stock`, `picture` AS `picture`, `since` AS `since`, `opens` AS `opens`, `attributes` AS `attributes`, `cents` AS `cents`
FROM parquet.`/tmp/binx-contracts/tables-10/{shop/products/history/version=58c24f72/chain=97%3Amysql-bin/commit_date=2026-11-21/b6f8920d25a040a5a292254120379060.parquet,shop/products/history/version=58c24f72/chain=97%3Amysql-bin/commit_date=2026-11-21/9bf8096848a1413bab94dca0a7a26db7.parquet}`
UNION ALL
SELECT `_change_type`, `_commit_version`, `_commit_timestamp`, `_row`, `_transaction`, `_event_timestamp`, `_position`, `_statement`, `_present`, `_json_diff`, CAST(NULL AS MAP<STRING, STRING>) AS `_misfits`, '97:mysql-bin' AS _chain, '6bf96c86' AS _schema_version, `id` AS `id`, `sku` AS `sku`, `title` AS `title`, `description` AS `description`, `price` AS `price`, `weight` AS `weight`, `volume` AS `volume`, `stock` AS `stock`, `picture` AS `picture`, `since` AS `since`, `opens` AS `opens`, `attributes` AS `attributes`, `cents` AS `cents`
FROM parquet.`/tmp/binx-contracts/tables-10/shop/products/history/version=6bf96c86/chain=97%3Amysql-bin/commit_date=2026-11-21/9a5fbb7fbb21426c8b4ba06eaddd7908.parquet`;

CREATE OR REPLACE TEMPORARY VIEW `shop_visits` AS
SELECT * FROM parquet.`/tmp/binx-contracts/tables-10/shop/visits/current/ba26fa45161a46adae09de8a3d8ec051.parquet`;

CREATE OR REPLACE TEMPORARY VIEW `shop_visits_versions` AS
SELECT * FROM parquet.`/tmp/binx-contracts/tables-10/shop/visits/scd2/b4c9d961fdb8460fb3168fd191cee6d8.parquet`;

CREATE OR REPLACE TEMPORARY VIEW `shop_visits_history` AS
SELECT `_change_type`, `_commit_version`, `_commit_timestamp`, `_row`, `_transaction`, `_event_timestamp`, `_position`, `_statement`, `_present`, CAST(NULL AS STRING) AS `_json_diff`, `_misfits`, '97:mysql-bin' AS _chain, '11f85c3b' AS _schema_version, `id` AS `id`, `page` AS `page`, `seen_at` AS `seen_at`
FROM parquet.`/tmp/binx-contracts/tables-10/{shop/visits/history/version=11f85c3b/chain=97%3Amysql-bin/commit_date=2026-11-21/9f05d15218b240ce8ed4e8666664ddab.parquet,shop/visits/history/version=11f85c3b/chain=97%3Amysql-bin/commit_date=2026-11-21/bef922589bfd4d0c92d4540c81768388.parquet}`;

CREATE OR REPLACE TEMPORARY VIEW `shop_vouchers` AS
SELECT * FROM parquet.`/tmp/binx-contracts/tables-10/shop/vouchers/current/d7fabbc435824b778fd79ec3c4d3adff.parquet`;

CREATE OR REPLACE TEMPORARY VIEW `shop_vouchers_versions` AS
SELECT * FROM parquet.`/tmp/binx-contracts/tables-10/shop/vouchers/scd2/0aaf4ee7b0e140219bd110e63662e7cc.parquet`;

