-- Views as of load 1; each writes this file again. If the folder is elsewhere, change the next line.
CREATE OR REPLACE MACRO binx_folder_5a2fce4b() AS '/tmp/binx-contracts/tables-15/';

CREATE OR REPLACE VIEW "_loads" AS
SELECT * FROM read_parquet([binx_folder_5a2fce4b() || one for one in ['_loads/2026-11-29.parquet']], hive_partitioning = false);

CREATE SCHEMA IF NOT EXISTS "shop";
CREATE OR REPLACE VIEW "shop"."payments" AS
SELECT * FROM read_parquet([binx_folder_5a2fce4b() || one for one in ['shop/payments/current/272b494b7fa5472ba94a7d80e04b5730.parquet']], hive_partitioning = false);

CREATE SCHEMA IF NOT EXISTS "shop";
CREATE OR REPLACE VIEW "shop"."payments_versions" AS
SELECT * FROM read_parquet([binx_folder_5a2fce4b() || one for one in ['shop/payments/scd2/fc7a4002051c42b596ff0ebfd0ea8abe.parquet']], hive_partitioning = false);

CREATE SCHEMA IF NOT EXISTS "shop";
CREATE OR REPLACE VIEW "shop"."payments_history" AS
SELECT "_change_type", "_commit_version", "_commit_timestamp", "_row", "_transaction", "_event_timestamp", "_position", "_statement", "_present", "_json_diff", "_misfits", '97:mysql-bin' AS _chain, 'cf009b7f' AS _schema_version, {'chain': 0, 'commit_version': _commit_version, 'row': _row, 'after': _change_type = 'update_postimage'} AS _order, "id" AS "id", "order_id" AS "order_id", "amount" AS "amount", "method" AS "method", "reference" AS "reference", "paid_at" AS "paid_at", "answer" AS "answer"
FROM read_parquet([binx_folder_5a2fce4b() || one for one in ['shop/payments/history/version=cf009b7f/chain=97%3Amysql-bin/commit_date=2026-11-21/551e543e016f4bb784d111cd6e604e40.parquet', 'shop/payments/history/version=cf009b7f/chain=97%3Amysql-bin/commit_date=2026-11-21/a48b0ce45a5b4b31b49ad738953f4711.parquet']], hive_partitioning = false);

CREATE SCHEMA IF NOT EXISTS "shop";
CREATE OR REPLACE VIEW "shop"."products" AS
SELECT * FROM read_parquet([binx_folder_5a2fce4b() || one for one in ['shop/products/current/39ae86e7ee73460caf9b77cae9f363b6.parquet']], hive_partitioning = false);

CREATE SCHEMA IF NOT EXISTS "shop";
CREATE OR REPLACE VIEW "shop"."products_versions" AS
SELECT * FROM read_parquet([binx_folder_5a2fce4b() || one for one in ['shop/products/scd2/e97d2962444c40989453087cc63f7565.parquet', 'shop/products/scd2/df09176def7c4351b2678511b47d21ff.parquet', 'shop/products/scd2/4f2df7731aa349889d4d60e043ee5db1.parquet']], hive_partitioning = false);

CREATE SCHEMA IF NOT EXISTS "shop";
CREATE OR REPLACE VIEW "shop"."products_history" AS
SELECT "_change_type", "_commit_version", "_commit_timestamp", "_row", "_transaction", "_event_timestamp", "_position", "_statement", "_present", "_json_diff", CAST(NULL AS MAP(VARCHAR, VARCHAR)) AS "_misfits", '97:mysql-bin' AS _chain, '58c24f72' AS _schema_version, {'chain': 0, 'commit_version': _commit_version, 'row': _row, 'after': _change_type = 'update_postimage'} AS _order, "id" AS "id", "sku" AS "sku", "title" AS "title", "description" AS "description", "price" AS "price", "weight" AS "weight", "volume" AS "volume", CAST("stock" AS BIGINT) AS "stock", "picture" AS "picture", "since" AS "since", "opens" AS "opens", "attributes" AS "attributes", "cents" AS "cents"
FROM read_parquet([binx_folder_5a2fce4b() || one for one in ['shop/products/history/version=58c24f72/chain=97%3Amysql-bin/commit_date=2026-11-21/8bf4188a803e4d118fb2d9d29246fd4e.parquet', 'shop/products/history/version=58c24f72/chain=97%3Amysql-bin/commit_date=2026-11-21/12ca48072e734cbba8757fc534898926.parquet']], hive_partitioning = false)
UNION ALL
SELECT "_change_type", "_commit_version", "_commit_timestamp", "_row", "_transaction", "_event_timestamp", "_position", "_statement", "_present", "_json_diff", CAST(NULL AS MAP(VARCHAR, VARCHAR)) AS "_misfits", '97:mysql-bin' AS _chain, '6bf96c86' AS _schema_version, {'chain': 0, 'commit_version': _commit_version, 'row': _row, 'after': _change_type = 'update_postimage'} AS _order, "id" AS "id", "sku" AS "sku", "title" AS "title", "description" AS "description", "price" AS "price", "weight" AS "weight", "volume" AS "volume", "stock" AS "stock", "picture" AS "picture", "since" AS "since", "opens" AS "opens", "attributes" AS "attributes", "cents" AS "cents"
FROM read_parquet([binx_folder_5a2fce4b() || one for one in ['shop/products/history/version=6bf96c86/chain=97%3Amysql-bin/commit_date=2026-11-21/356280e77d694965ad4053f8b4ad4a0c.parquet']], hive_partitioning = false);

CREATE SCHEMA IF NOT EXISTS "shop";
CREATE OR REPLACE VIEW "shop"."visits" AS
SELECT * FROM read_parquet([binx_folder_5a2fce4b() || one for one in ['shop/visits/current/10fd6f2261b5402ca78b3c5c3702ba9a.parquet']], hive_partitioning = false);

CREATE SCHEMA IF NOT EXISTS "shop";
CREATE OR REPLACE VIEW "shop"."visits_versions" AS
SELECT * FROM read_parquet([binx_folder_5a2fce4b() || one for one in ['shop/visits/scd2/c56a022820e444ed847470b16afbc147.parquet']], hive_partitioning = false);

CREATE SCHEMA IF NOT EXISTS "shop";
CREATE OR REPLACE VIEW "shop"."visits_history" AS
SELECT "_change_type", "_commit_version", "_commit_timestamp", "_row", "_transaction", "_event_timestamp", "_position", "_statement", "_present", CAST(NULL AS VARCHAR) AS "_json_diff", "_misfits", '97:mysql-bin' AS _chain, '11f85c3b' AS _schema_version, {'chain': 0, 'commit_version': _commit_version, 'row': _row, 'after': _change_type = 'update_postimage'} AS _order, "id" AS "id", "page" AS "page", "seen_at" AS "seen_at"
FROM read_parquet([binx_folder_5a2fce4b() || one for one in ['shop/visits/history/version=11f85c3b/chain=97%3Amysql-bin/commit_date=2026-11-21/a8eee1bc70a442e2bb45ca08e75d8df5.parquet', 'shop/visits/history/version=11f85c3b/chain=97%3Amysql-bin/commit_date=2026-11-21/7eb7a81a956142b5bde9f038364e4dac.parquet']], hive_partitioning = false);

CREATE SCHEMA IF NOT EXISTS "shop";
CREATE OR REPLACE VIEW "shop"."vouchers" AS
SELECT * FROM read_parquet([binx_folder_5a2fce4b() || one for one in ['shop/vouchers/current/167ab1de4a544c81ae0ab604d47d2517.parquet']], hive_partitioning = false);

CREATE SCHEMA IF NOT EXISTS "shop";
CREATE OR REPLACE VIEW "shop"."vouchers_versions" AS
SELECT * FROM read_parquet([binx_folder_5a2fce4b() || one for one in ['shop/vouchers/scd2/34cfdb2734fe4cbaa8793246ac59e956.parquet']], hive_partitioning = false);

