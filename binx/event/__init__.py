"""Parse binary log events into records.

:func:`~binx.event.header.parse_header` parses the 19-byte common header,
:func:`~binx.event.format.parse_format` the format description event, which defines how others are read, and
:func:`~binx.event.parsers.parse_event` any other event. Every parser raises DamagedError if the bytes are
truncated or inconsistent; docstrings list other errors only. Use this package for few or single events;
loops over all events and row images are in :mod:`binx.kernels`.
"""
