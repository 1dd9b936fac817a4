"""Binary logs that real servers wrote, what those servers said about them, and the recipe that made both."""
