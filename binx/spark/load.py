"""Load what ``binx to-parquet`` wrote into tables: the script for ``spark-submit``.

It needs pyspark and the standard library, and the folder ``loading`` beside it, which Spark's client mode
finds by itself; for cluster mode give that folder as a zip with ``--py-files``. ``--help`` lists the options.

    spark-submit "$(binx spark-script)" --input DIR --output OUT
"""

from __future__ import annotations

import sys

if __package__:
    from binx.spark.loading.run import main
else:
    from loading.run import main  # type: ignore[import-not-found,no-redef]

if __name__ == "__main__":
    sys.exit(main())
