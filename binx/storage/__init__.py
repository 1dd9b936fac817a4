"""Where what binx makes is kept: folders and object stores, whole under the final name or not at all."""
