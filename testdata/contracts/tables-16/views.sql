-- Views as of load 1; each writes this file again. If the folder is elsewhere, change the next line.
CREATE OR REPLACE MACRO binx_folder_6f1be7ab() AS '/tmp/binx-contracts/tables-16/';

CREATE OR REPLACE VIEW "_loads" AS
SELECT * FROM read_parquet([binx_folder_6f1be7ab() || one for one in ['_loads/2026-11-29.parquet']], hive_partitioning = false);

CREATE SCHEMA IF NOT EXISTS "shop";
CREATE OR REPLACE VIEW "shop"."payments" AS
SELECT * FROM read_parquet([binx_folder_6f1be7ab() || one for one in ['shop/payments/current/fa6012a080084707b33bd83d046ed135.parquet']], hive_partitioning = false);

CREATE SCHEMA IF NOT EXISTS "shop";
CREATE OR REPLACE VIEW "shop"."payments_versions" AS
SELECT * FROM read_parquet([binx_folder_6f1be7ab() || one for one in ['shop/payments/scd2/6a4ed72dede84974b506af0ed428d880.parquet']], hive_partitioning = false);

CREATE SCHEMA IF NOT EXISTS "shop";
CREATE OR REPLACE VIEW "shop"."payments_history" AS
SELECT "_change_type", "_commit_version", "_commit_timestamp", "_row", "_transaction", "_event_timestamp", "_position", "_statement", "_present", "_json_diff", "_misfits", '97:mysql-bin' AS _chain, 'cf009b7f' AS _schema_version, {'chain': 0, 'commit_version': _commit_version, 'row': _row, 'after': _change_type = 'update_postimage'} AS _order, "id" AS "id", "order_id" AS "order_id", "amount" AS "amount", "method" AS "method", "reference" AS "reference", "paid_at" AS "paid_at", "answer" AS "answer"
FROM read_parquet([binx_folder_6f1be7ab() || one for one in ['shop/payments/history/version=cf009b7f/chain=97%3Amysql-bin/commit_date=2026-11-21/ae508a7201bb4f12bfe263f2dd085e41.parquet', 'shop/payments/history/version=cf009b7f/chain=97%3Amysql-bin/commit_date=2026-11-21/cf11dcab7443493ab24bc38d3120fa97.parquet']], hive_partitioning = false);

CREATE SCHEMA IF NOT EXISTS "shop";
CREATE OR REPLACE VIEW "shop"."products" AS
SELECT * FROM read_parquet([binx_folder_6f1be7ab() || one for one in ['shop/products/current/cda8019ca63a4b0bbaffc04f143eea7c.parquet']], hive_partitioning = false);

CREATE SCHEMA IF NOT EXISTS "shop";
CREATE OR REPLACE VIEW "shop"."products_versions" AS
SELECT * FROM read_parquet([binx_folder_6f1be7ab() || one for one in ['shop/products/scd2/92b5ed914180458f9cf5fab866ed6fd8.parquet', 'shop/products/scd2/31216ba329394313a8a17382bc27ba4e.parquet', 'shop/products/scd2/7a122b185be043769a728b53be6056f7.parquet']], hive_partitioning = false);

CREATE SCHEMA IF NOT EXISTS "shop";
CREATE OR REPLACE VIEW "shop"."products_history" AS
SELECT "_change_type", "_commit_version", "_commit_timestamp", "_row", "_transaction", "_event_timestamp", "_position", "_statement", "_present", "_json_diff", CAST(NULL AS MAP(VARCHAR, VARCHAR)) AS "_misfits", '97:mysql-bin' AS _chain, '58c24f72' AS _schema_version, {'chain': 0, 'commit_version': _commit_version, 'row': _row, 'after': _change_type = 'update_postimage'} AS _order, "id" AS "id", "sku" AS "sku", "title" AS "title", "description" AS "description", "price" AS "price", "weight" AS "weight", "volume" AS "volume", CAST("stock" AS BIGINT) AS "stock", "picture" AS "picture", "since" AS "since", "opens" AS "opens", "attributes" AS "attributes", "cents" AS "cents"
FROM read_parquet([binx_folder_6f1be7ab() || one for one in ['shop/products/history/version=58c24f72/chain=97%3Amysql-bin/commit_date=2026-11-21/5fa9b9a1437e4672b54d120ac7c86c8e.parquet', 'shop/products/history/version=58c24f72/chain=97%3Amysql-bin/commit_date=2026-11-21/5021dc8c546143c8bff08963afe1529a.parquet']], hive_partitioning = false)
UNION ALL
SELECT "_change_type", "_commit_version", "_commit_timestamp", "_row", "_transaction", "_event_timestamp", "_position", "_statement", "_present", "_json_diff", CAST(NULL AS MAP(VARCHAR, VARCHAR)) AS "_misfits", '97:mysql-bin' AS _chain, '6bf96c86' AS _schema_version, {'chain': 0, 'commit_version': _commit_version, 'row': _row, 'after': _change_type = 'update_postimage'} AS _order, "id" AS "id", "sku" AS "sku", "title" AS "title", "description" AS "description", "price" AS "price", "weight" AS "weight", "volume" AS "volume", "stock" AS "stock", "picture" AS "picture", "since" AS "since", "opens" AS "opens", "attributes" AS "attributes", "cents" AS "cents"
FROM read_parquet([binx_folder_6f1be7ab() || one for one in ['shop/products/history/version=6bf96c86/chain=97%3Amysql-bin/commit_date=2026-11-21/31c4db98235e446f8739ac509f0e9f0a.parquet']], hive_partitioning = false);

CREATE SCHEMA IF NOT EXISTS "shop";
CREATE OR REPLACE VIEW "shop"."visits" AS
SELECT * FROM read_parquet([binx_folder_6f1be7ab() || one for one in ['shop/visits/current/2f85a35cbf0a476c8f1079cfca5ab4f1.parquet']], hive_partitioning = false);

CREATE SCHEMA IF NOT EXISTS "shop";
CREATE OR REPLACE VIEW "shop"."visits_versions" AS
SELECT * FROM read_parquet([binx_folder_6f1be7ab() || one for one in ['shop/visits/scd2/6bb589e14d5643669326769b320b6cfe.parquet']], hive_partitioning = false);

CREATE SCHEMA IF NOT EXISTS "shop";
CREATE OR REPLACE VIEW "shop"."visits_history" AS
SELECT "_change_type", "_commit_version", "_commit_timestamp", "_row", "_transaction", "_event_timestamp", "_position", "_statement", "_present", CAST(NULL AS VARCHAR) AS "_json_diff", "_misfits", '97:mysql-bin' AS _chain, '11f85c3b' AS _schema_version, {'chain': 0, 'commit_version': _commit_version, 'row': _row, 'after': _change_type = 'update_postimage'} AS _order, "id" AS "id", "page" AS "page", "seen_at" AS "seen_at"
FROM read_parquet([binx_folder_6f1be7ab() || one for one in ['shop/visits/history/version=11f85c3b/chain=97%3Amysql-bin/commit_date=2026-11-21/4329fdb6b3c54c10b7cd5cd77ec68ec0.parquet', 'shop/visits/history/version=11f85c3b/chain=97%3Amysql-bin/commit_date=2026-11-21/eef9df0682d34cb58aadbaa3ced2b44c.parquet']], hive_partitioning = false);

CREATE SCHEMA IF NOT EXISTS "shop";
CREATE OR REPLACE VIEW "shop"."vouchers" AS
SELECT * FROM read_parquet([binx_folder_6f1be7ab() || one for one in ['shop/vouchers/current/f27060177d4f455897d9f319a6b32bbe.parquet']], hive_partitioning = false);

CREATE SCHEMA IF NOT EXISTS "shop";
CREATE OR REPLACE VIEW "shop"."vouchers_versions" AS
SELECT * FROM read_parquet([binx_folder_6f1be7ab() || one for one in ['shop/vouchers/scd2/8d4a9396756441d4bc9b0297cadcb7b9.parquet']], hive_partitioning = false);

