"""Iceberg tables in a catalog of the session, brought up to what is committed in the output.

The output's own Parquet files stay what loads go on from; Iceberg's tables are made from them after the
commit, by the packages of the session. Each snapshot of theirs says which load it is of, so what a run that
was killed did not get to is done by the next one, once.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own custom

from .context import Load, history_of_load
from .images import COMMIT_DATE
from .outcome import ExitCode, LoadError, reason_of
from .records import TableState
from .storage import address_of

_CLASSES = "org.apache.iceberg.spark."
_CATALOG_CLASS = f"{_CLASSES}SparkCatalog"
_LOAD = "binx.load"
_SNAPSHOT_LOAD = f"snapshot-property.{_LOAD}"


def find_catalog(spark: SparkSession, asked: str) -> str:
    """The name of the catalog that tables go to.

    Args:
        spark: the session.
        asked: the name that was given; the session's catalog where empty.

    Raises:
        LoadError: the session lacks Iceberg's packages, or the catalog is another's.
    """
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]

    machine: Any = spark._jvm
    try:
        machine.java.lang.Thread.currentThread().getContextClassLoader().loadClass(_CATALOG_CLASS)
    except Py4JError as error:
        version = ".".join(spark.version.split(".")[:2])
        raise LoadError(
            "--format iceberg needs Iceberg's packages, which this session lacks: give --conf"
            f" spark.jars.packages=org.apache.iceberg:iceberg-spark-runtime-{version}_2.13:VERSION with"
            f" a VERSION of Iceberg for Spark {version}, --conf spark.sql.catalog.NAME={_CATALOG_CLASS}"
            " with the type and location of the catalog, and --catalog NAME",
            ExitCode.USAGE,
        ) from error
    name = asked or spark.catalog.currentCatalog()
    if not str(spark.conf.get(f"spark.sql.catalog.{name}", "")).startswith(_CLASSES):
        raise LoadError(
            f"--format iceberg: the catalog {name} of this session is not one of Iceberg's: give "
            f"--conf spark.sql.catalog.NAME={_CATALOG_CLASS} and --catalog NAME",
            ExitCode.USAGE,
        )
    return name


def table_name(catalog: str, state: TableState, kind: str) -> str:
    """The name of a table's history, current state or versions, quoted for SQL."""
    parts = (catalog, state.name.db, f"{state.name.table}_{kind}")
    return ".".join(f"`{part.replace('`', '``')}`" for part in parts)


def publish_tables(load: Load, catalog: str) -> None:
    """Bring all tables of the catalog up to what is committed.

    Raises:
        LoadError: that failed; the commit holds, and the next run tries again.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    for state in load.tables.values():
        try:
            _publish_table(load, state, catalog)
        except (PySparkException, Py4JError) as error:
            raise LoadError(
                f"{load.storage.root} is loaded, but the Iceberg tables of {state.name} in {catalog}"
                f" could not be updated; the next run tries again; Spark said: {reason_of(error)}"
            ) from error


def _publish_table(load: Load, state: TableState, catalog: str) -> None:
    spark = load.spark
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {table_name(catalog, state, '').rpartition('.')[0]}")
    _publish_history(load, state, table_name(catalog, state, "history"))
    for kind, loads in state.snapshots.items():
        name = table_name(catalog, state, kind)
        if _published(spark, name) != loads[0]:
            address = address_of(load.storage, state.snapshot(kind, loads[0]))
            rows = spark.read.schema(state.shape(kind)).parquet(address)
            _new_table(rows, name, loads[0]).createOrReplace()


def _publish_history(load: Load, state: TableState, name: str) -> None:
    """Append what loads brought since the last one that is there."""
    spark = load.spark
    published = _published(spark, name)
    for record in load.records():
        rows = history_of_load(load, state, record) if record.load > published else None
        if rows is None:
            continue
        dated = rows.withColumn(COMMIT_DATE, F.to_date("_commit_timestamp"))
        if published == 0:
            made = _new_table(dated, name, record.load)
            made.tableProperty("write.spark.accept-any-schema", "true").partitionedBy(
                F.col(COMMIT_DATE)
            ).create()
        else:
            more = dated.writeTo(name).option(_SNAPSHOT_LOAD, str(record.load))
            more.option("merge-schema", "true").option("check-ordering", "false").append()
            # Snapshots expire; what the table itself says does not.
            spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('{_LOAD}' = '{record.load}')")
        published = record.load


def _new_table(rows: DataFrame, name: str, load: int) -> Any:
    writer = rows.writeTo(name).using("iceberg").option(_SNAPSHOT_LOAD, str(load))
    return writer.tableProperty(_LOAD, str(load))


def _published(spark: SparkSession, name: str) -> int:
    """The load that a table was last brought up to; 0 where there is no table."""
    if not spark.catalog.tableExists(name):
        return 0
    found = [row["value"] for row in spark.sql(f"SHOW TBLPROPERTIES {name}").collect() if row["key"] == _LOAD]
    kept = spark.sql(f"SELECT summary['{_LOAD}'] AS load FROM {name}.snapshots").collect()
    return max((int(load) for load in [*found, *(row["load"] for row in kept)] if load), default=0)
