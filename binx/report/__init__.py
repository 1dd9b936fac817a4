"""What binx's reports are called: the vocabulary of JSON, of the API's records and of columns."""
