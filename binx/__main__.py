"""``python -m binx`` is the command ``binx``."""

import sys

from binx.cli.main import run

if __name__ == "__main__":
    sys.exit(run())
