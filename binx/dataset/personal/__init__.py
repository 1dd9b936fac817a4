"""Keep personal data out of a data set: drop or hash columns and parts of JSON documents."""
