"""Events: from the bytes of one to a record of what it says.

:func:`~binx.event.header.parse_header` reads the 19 bytes before each event,
:func:`~binx.event.format.parse_format` the event that rules how the others are read, and
:func:`~binx.event.parse.parse_event` any other. All that reads bytes raises DamagedError where they are
cut or contradict themselves; other errors are told where they can come. This is for events that are few or
looked at singly; loops over all events and row images are in :mod:`binx.kernels`.
"""
