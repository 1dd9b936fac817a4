"""Tables and their columns through statements and files: lives, epochs, and what changes rows unlogged."""
