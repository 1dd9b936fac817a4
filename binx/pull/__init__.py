"""Mirror a live server's binary logs to the local disk: verified, durable, resumable."""
