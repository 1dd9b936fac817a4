"""The Spark job: its tasks copy new files, look at keys, and merge changes into the files of tables."""
