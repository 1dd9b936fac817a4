"""A source for replicas, made of logs on disk: ``serve``."""
