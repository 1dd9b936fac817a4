"""``python -m binx`` is the command ``binx``."""

from binx.cli.main import main

if __name__ == "__main__":
    main()
