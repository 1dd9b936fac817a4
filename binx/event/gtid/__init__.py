"""Global transaction identifiers (GTIDs): GTID events and GTID sets."""
