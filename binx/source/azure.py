"""Azure's stores: whether there are credentials, which is asked in a process of its own.

Azure's library ends the process where it finds none, or none that works: Arrow catches what storage raises,
and not what credentials do. Whether there are any cannot be seen from outside, as machines in Azure have them
without a variable.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from functools import cache
from urllib.parse import parse_qs

from binx.errors import OutputError, SourceError

_SCHEMES = ("abfs", "abfss")
_NEEDS_NO_TOKEN = frozenset({"account_key", "sig"})
_SAID = "what():"

_ASK = """
import sys
from pyarrow import fs
try:
    system, path = fs.FileSystem.from_uri(sys.argv[1])
    system.get_file_info(path)
except Exception:
    pass
"""
"""What Arrow can tell as an error is told where it comes again."""


def check_credentials(uri: str, error_type: type[SourceError | OutputError]) -> None:
    """Raise an error where reaching an Azure store would end the process; asked once for a container.

    Raises:
        SourceError, OutputError: there are no credentials that work.
    """
    place, _, options = uri.partition("?")
    scheme, _, rest = place.partition("://")
    if scheme.lower() not in _SCHEMES or not _needs_token(options):
        return
    said = _refusal(f"{scheme}://{rest.partition('/')[0]}/{'?' if options else ''}{options}")
    if said is not None:
        raise error_type(
            f"no working Azure credentials: {said}. Run `az login`, set AZURE_TENANT_ID, AZURE_CLIENT_ID and"
            " AZURE_CLIENT_SECRET, or use the machine's identity; for a public container, append"
            " ?credential_kind=anonymous to the URI",
            path=uri,
        )


def _needs_token(options: str) -> bool:
    named = parse_qs(options, keep_blank_values=True)
    return named.get("credential_kind") != ["anonymous"] and _NEEDS_NO_TOKEN.isdisjoint(named)


@cache
def _refusal(uri: str) -> str | None:
    """What Azure's library says where it ends a process that asks for something; None where it does not."""
    command = [sys.executable, "-c", _ASK, uri]
    asked = subprocess.run(command, check=False, stdin=subprocess.DEVNULL, capture_output=True)
    if asked.returncode != -signal.SIGABRT:
        return None
    lines = asked.stderr.decode("utf-8", "replace").splitlines()
    said = next((line.partition(_SAID)[2] for line in lines if _SAID in line), "no reason is given")
    return said.strip().rstrip(".")
