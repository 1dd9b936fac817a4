"""What the tasks of a load do: copy new files, look at keys, merge changes into the files of tables."""
