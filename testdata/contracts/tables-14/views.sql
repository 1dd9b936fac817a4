-- Views as of load 1; each writes this file again. If the folder is elsewhere, change the next line.
CREATE OR REPLACE MACRO binx_folder_8e21cfee() AS '/tmp/binx-contracts/tables-14/';

CREATE OR REPLACE VIEW "_loads" AS
SELECT * FROM read_parquet([binx_folder_8e21cfee() || one for one in ['_loads/2026-11-29.parquet']], hive_partitioning = false);

CREATE SCHEMA IF NOT EXISTS "shop";
CREATE OR REPLACE VIEW "shop"."payments" AS
SELECT * FROM read_parquet([binx_folder_8e21cfee() || one for one in ['shop/payments/current/5554cbe2f19e4b0b9728782953b57b00.parquet']], hive_partitioning = false);

CREATE SCHEMA IF NOT EXISTS "shop";
CREATE OR REPLACE VIEW "shop"."payments_versions" AS
SELECT * FROM read_parquet([binx_folder_8e21cfee() || one for one in ['shop/payments/scd2/97667c84e1f74e24b1ac026625f1d0a2.parquet']], hive_partitioning = false);

CREATE SCHEMA IF NOT EXISTS "shop";
CREATE OR REPLACE VIEW "shop"."payments_history" AS
SELECT "_change_type", "_commit_version", "_commit_timestamp", "_row", "_transaction", "_event_timestamp", "_position", "_statement", "_present", "_json_diff", "_misfits", '97:mysql-bin' AS _chain, 'cf009b7f' AS _schema_version, {'chain': 0, 'commit_version': _commit_version, 'row': _row, 'after': _change_type = 'update_postimage'} AS _order, "id" AS "id", "order_id" AS "order_id", "amount" AS "amount", "method" AS "method", "reference" AS "reference", "paid_at" AS "paid_at", "answer" AS "answer"
FROM read_parquet([binx_folder_8e21cfee() || one for one in ['shop/payments/history/version=cf009b7f/chain=97%3Amysql-bin/commit_date=2026-11-21/21db7b5d40bf46ba9b83ef538d30720e.parquet', 'shop/payments/history/version=cf009b7f/chain=97%3Amysql-bin/commit_date=2026-11-21/9e09e74f864f4656a83a3657f322f8ad.parquet']], hive_partitioning = false);

CREATE SCHEMA IF NOT EXISTS "shop";
CREATE OR REPLACE VIEW "shop"."products" AS
SELECT * FROM read_parquet([binx_folder_8e21cfee() || one for one in ['shop/products/current/16521289a682444ca391b36bbd54bbbb.parquet']], hive_partitioning = false);

CREATE SCHEMA IF NOT EXISTS "shop";
CREATE OR REPLACE VIEW "shop"."products_versions" AS
SELECT * FROM read_parquet([binx_folder_8e21cfee() || one for one in ['shop/products/scd2/2c4157f95d2940c9bf5e9e68215cc4a3.parquet', 'shop/products/scd2/efc85f1b1551456d8e363c56b2639566.parquet', 'shop/products/scd2/048d8db155ac44aaac2e52c8bc3f3ee0.parquet']], hive_partitioning = false);

CREATE SCHEMA IF NOT EXISTS "shop";
CREATE OR REPLACE VIEW "shop"."products_history" AS
SELECT "_change_type", "_commit_version", "_commit_timestamp", "_row", "_transaction", "_event_timestamp", "_position", "_statement", "_present", "_json_diff", CAST(NULL AS MAP(VARCHAR, VARCHAR)) AS "_misfits", '97:mysql-bin' AS _chain, '58c24f72' AS _schema_version, {'chain': 0, 'commit_version': _commit_version, 'row': _row, 'after': _change_type = 'update_postimage'} AS _order, "id" AS "id", "sku" AS "sku", "title" AS "title", "description" AS "description", "price" AS "price", "weight" AS "weight", "volume" AS "volume", CAST("stock" AS BIGINT) AS "stock", "picture" AS "picture", "since" AS "since", "opens" AS "opens", "attributes" AS "attributes", "cents" AS "cents"
FROM read_parquet([binx_folder_8e21cfee() || one for one in ['shop/products/history/version=58c24f72/chain=97%3Amysql-bin/commit_date=2026-11-21/6358b78f132d43e09789158ab5cf551d.parquet', 'shop/products/history/version=58c24f72/chain=97%3Amysql-bin/commit_date=2026-11-21/61168af6bcdf42f89dd06e26b27c8900.parquet']], hive_partitioning = false)
UNION ALL
SELECT "_change_type", "_commit_version", "_commit_timestamp", "_row", "_transaction", "_event_timestamp", "_position", "_statement", "_present", "_json_diff", CAST(NULL AS MAP(VARCHAR, VARCHAR)) AS "_misfits", '97:mysql-bin' AS _chain, '6bf96c86' AS _schema_version, {'chain': 0, 'commit_version': _commit_version, 'row': _row, 'after': _change_type = 'update_postimage'} AS _order, "id" AS "id", "sku" AS "sku", "title" AS "title", "description" AS "description", "price" AS "price", "weight" AS "weight", "volume" AS "volume", "stock" AS "stock", "picture" AS "picture", "since" AS "since", "opens" AS "opens", "attributes" AS "attributes", "cents" AS "cents"
FROM read_parquet([binx_folder_8e21cfee() || one for one in ['shop/products/history/version=6bf96c86/chain=97%3Amysql-bin/commit_date=2026-11-21/1f45be14ae06480391ec9be4d0ee6a50.parquet']], hive_partitioning = false);

CREATE SCHEMA IF NOT EXISTS "shop";
CREATE OR REPLACE VIEW "shop"."visits" AS
SELECT * FROM read_parquet([binx_folder_8e21cfee() || one for one in ['shop/visits/current/38de08ed9ec549e7a8ff3e2944d538b9.parquet']], hive_partitioning = false);

CREATE SCHEMA IF NOT EXISTS "shop";
CREATE OR REPLACE VIEW "shop"."visits_versions" AS
SELECT * FROM read_parquet([binx_folder_8e21cfee() || one for one in ['shop/visits/scd2/827725e2262341d5a357c12539c34c06.parquet']], hive_partitioning = false);

CREATE SCHEMA IF NOT EXISTS "shop";
CREATE OR REPLACE VIEW "shop"."visits_history" AS
SELECT "_change_type", "_commit_version", "_commit_timestamp", "_row", "_transaction", "_event_timestamp", "_position", "_statement", "_present", CAST(NULL AS VARCHAR) AS "_json_diff", "_misfits", '97:mysql-bin' AS _chain, '11f85c3b' AS _schema_version, {'chain': 0, 'commit_version': _commit_version, 'row': _row, 'after': _change_type = 'update_postimage'} AS _order, "id" AS "id", "page" AS "page", "seen_at" AS "seen_at"
FROM read_parquet([binx_folder_8e21cfee() || one for one in ['shop/visits/history/version=11f85c3b/chain=97%3Amysql-bin/commit_date=2026-11-21/2d83c8b7315c40428bc5ea46268f4fea.parquet', 'shop/visits/history/version=11f85c3b/chain=97%3Amysql-bin/commit_date=2026-11-21/fdcac699671642688852fcaec18a3bf1.parquet']], hive_partitioning = false);

CREATE SCHEMA IF NOT EXISTS "shop";
CREATE OR REPLACE VIEW "shop"."vouchers" AS
SELECT * FROM read_parquet([binx_folder_8e21cfee() || one for one in ['shop/vouchers/current/00daa74700914200b7fba33f68f03dea.parquet']], hive_partitioning = false);

CREATE SCHEMA IF NOT EXISTS "shop";
CREATE OR REPLACE VIEW "shop"."vouchers_versions" AS
SELECT * FROM read_parquet([binx_folder_8e21cfee() || one for one in ['shop/vouchers/scd2/51ed017eb2e8415493bd72aab125f0d5.parquet']], hive_partitioning = false);

