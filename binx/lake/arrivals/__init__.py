"""What is new in data sets: files and statements, without what exports repeat of each other."""
