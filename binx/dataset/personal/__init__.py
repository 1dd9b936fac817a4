"""Personal data that does not come into a data set: columns and parts of documents, dropped or hashed."""
