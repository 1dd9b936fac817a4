-- Views as of load 1; each writes this file again. If the folder is elsewhere, change the next line.
CREATE OR REPLACE MACRO binx_folder_0d94de0a() AS '/tmp/binx-contracts/tables-17/';

CREATE OR REPLACE VIEW "_loads" AS
SELECT * FROM read_parquet([binx_folder_0d94de0a() || one for one in ['_loads/2026-11-29.parquet']], hive_partitioning = false);

CREATE SCHEMA IF NOT EXISTS "shop";
CREATE OR REPLACE VIEW "shop"."payments" AS
SELECT * FROM read_parquet([binx_folder_0d94de0a() || one for one in ['shop/payments/current/f15add93d6154ed2a1bf050fe3b2f0ce.parquet']], hive_partitioning = false);

CREATE SCHEMA IF NOT EXISTS "shop";
CREATE OR REPLACE VIEW "shop"."payments_versions" AS
SELECT * FROM read_parquet([binx_folder_0d94de0a() || one for one in ['shop/payments/scd2/cbb7b4f4156f47688b36840d36616a73.parquet']], hive_partitioning = false);

CREATE SCHEMA IF NOT EXISTS "shop";
CREATE OR REPLACE VIEW "shop"."payments_history" AS
SELECT "_change_type", "_commit_version", "_commit_timestamp", "_row", "_transaction", "_event_timestamp", "_position", "_statement", "_present", "_json_diff", "_misfits", '97:mysql-bin' AS _chain, 'cf009b7f' AS _schema_version, {'chain': 0, 'commit_version': _commit_version, 'row': _row, 'after': _change_type = 'update_postimage'} AS _order, CAST(NULL AS TIMESTAMPTZ) AS _removed_at, "id" AS "id", "order_id" AS "order_id", "amount" AS "amount", "method" AS "method", "reference" AS "reference", "paid_at" AS "paid_at", "answer" AS "answer"
FROM read_parquet([binx_folder_0d94de0a() || one for one in ['shop/payments/history/version=cf009b7f/chain=97%3Amysql-bin/commit_date=2026-11-21/410592966faf4c88bc87717946348e16.parquet', 'shop/payments/history/version=cf009b7f/chain=97%3Amysql-bin/commit_date=2026-11-21/cb05b875f4454cecb2c90e7c12830b20.parquet']], hive_partitioning = false);

CREATE SCHEMA IF NOT EXISTS "shop";
CREATE OR REPLACE VIEW "shop"."products" AS
SELECT * FROM read_parquet([binx_folder_0d94de0a() || one for one in ['shop/products/current/629545e45e3948668197883627fd9a92.parquet']], hive_partitioning = false);

CREATE SCHEMA IF NOT EXISTS "shop";
CREATE OR REPLACE VIEW "shop"."products_versions" AS
SELECT * FROM read_parquet([binx_folder_0d94de0a() || one for one in ['shop/products/scd2/dd0be0353f0244f39cf541c189dab8e8.parquet', 'shop/products/scd2/1eda443b8d674d5fb613794afd4158ce.parquet', 'shop/products/scd2/1c3dfeb95f90468fbf6c9c501f65cbd5.parquet']], hive_partitioning = false);

CREATE SCHEMA IF NOT EXISTS "shop";
CREATE OR REPLACE VIEW "shop"."products_history" AS
SELECT "_change_type", "_commit_version", "_commit_timestamp", "_row", "_transaction", "_event_timestamp", "_position", "_statement", "_present", "_json_diff", CAST(NULL AS MAP(VARCHAR, VARCHAR)) AS "_misfits", '97:mysql-bin' AS _chain, '58c24f72' AS _schema_version, {'chain': 0, 'commit_version': _commit_version, 'row': _row, 'after': _change_type = 'update_postimage'} AS _order, CAST(NULL AS TIMESTAMPTZ) AS _removed_at, "id" AS "id", "sku" AS "sku", "title" AS "title", "description" AS "description", "price" AS "price", "weight" AS "weight", "volume" AS "volume", CAST("stock" AS BIGINT) AS "stock", "picture" AS "picture", "since" AS "since", "opens" AS "opens", "attributes" AS "attributes", "cents" AS "cents"
FROM read_parquet([binx_folder_0d94de0a() || one for one in ['shop/products/history/version=58c24f72/chain=97%3Amysql-bin/commit_date=2026-11-21/3ea02ed436c14c51a1af933141e0f709.parquet', 'shop/products/history/version=58c24f72/chain=97%3Amysql-bin/commit_date=2026-11-21/a4870d3e746a4040bc83aded1d318abb.parquet']], hive_partitioning = false)
UNION ALL
SELECT "_change_type", "_commit_version", "_commit_timestamp", "_row", "_transaction", "_event_timestamp", "_position", "_statement", "_present", "_json_diff", CAST(NULL AS MAP(VARCHAR, VARCHAR)) AS "_misfits", '97:mysql-bin' AS _chain, '6bf96c86' AS _schema_version, {'chain': 0, 'commit_version': _commit_version, 'row': _row, 'after': _change_type = 'update_postimage'} AS _order, CAST(NULL AS TIMESTAMPTZ) AS _removed_at, "id" AS "id", "sku" AS "sku", "title" AS "title", "description" AS "description", "price" AS "price", "weight" AS "weight", "volume" AS "volume", "stock" AS "stock", "picture" AS "picture", "since" AS "since", "opens" AS "opens", "attributes" AS "attributes", "cents" AS "cents"
FROM read_parquet([binx_folder_0d94de0a() || one for one in ['shop/products/history/version=6bf96c86/chain=97%3Amysql-bin/commit_date=2026-11-21/f18ec5a98f5046b79b94e73d8e11c30c.parquet']], hive_partitioning = false);

CREATE SCHEMA IF NOT EXISTS "shop";
CREATE OR REPLACE VIEW "shop"."visits" AS
SELECT * FROM read_parquet([binx_folder_0d94de0a() || one for one in ['shop/visits/current/e3f86a915a42497daf677add5673d40d.parquet']], hive_partitioning = false);

CREATE SCHEMA IF NOT EXISTS "shop";
CREATE OR REPLACE VIEW "shop"."visits_versions" AS
SELECT * FROM read_parquet([binx_folder_0d94de0a() || one for one in ['shop/visits/scd2/6742eec5ce4f448794049c1529f2664c.parquet']], hive_partitioning = false);

CREATE SCHEMA IF NOT EXISTS "shop";
CREATE OR REPLACE VIEW "shop"."visits_history" AS
SELECT "_change_type", "_commit_version", "_commit_timestamp", "_row", "_transaction", "_event_timestamp", "_position", "_statement", "_present", CAST(NULL AS VARCHAR) AS "_json_diff", "_misfits", '97:mysql-bin' AS _chain, '11f85c3b' AS _schema_version, {'chain': 0, 'commit_version': _commit_version, 'row': _row, 'after': _change_type = 'update_postimage'} AS _order, CAST(NULL AS TIMESTAMPTZ) AS _removed_at, "id" AS "id", "page" AS "page", "seen_at" AS "seen_at"
FROM read_parquet([binx_folder_0d94de0a() || one for one in ['shop/visits/history/version=11f85c3b/chain=97%3Amysql-bin/commit_date=2026-11-21/a1afbfc13e6e46ab89424412e5bd0e35.parquet', 'shop/visits/history/version=11f85c3b/chain=97%3Amysql-bin/commit_date=2026-11-21/d7956344513446ada829f4086e55f854.parquet']], hive_partitioning = false);

CREATE SCHEMA IF NOT EXISTS "shop";
CREATE OR REPLACE VIEW "shop"."vouchers" AS
SELECT * FROM read_parquet([binx_folder_0d94de0a() || one for one in ['shop/vouchers/current/6a49c86c4d1e4e19a7ff2658286f1de7.parquet']], hive_partitioning = false);

CREATE SCHEMA IF NOT EXISTS "shop";
CREATE OR REPLACE VIEW "shop"."vouchers_versions" AS
SELECT * FROM read_parquet([binx_folder_0d94de0a() || one for one in ['shop/vouchers/scd2/e2f88f683bdc41c4958fa6b73bb27c41.parquet']], hive_partitioning = false);

