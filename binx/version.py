"""The version of binx, and the name under which package indexes have it."""

__version__ = "0.1.0"

DISTRIBUTION = "binx-binlog"
"""What pip installs; package and command are ``binx``, which on PyPI is another project's name."""


def install_command(extra: str) -> str:
    """Return the command that installs binx with one of its extras (``pyproject.toml``)."""
    return f"pip install '{DISTRIBUTION}[{extra}]'"
