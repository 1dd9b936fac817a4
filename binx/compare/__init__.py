"""Compare the binary logs of two servers."""
