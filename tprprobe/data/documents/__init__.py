"""Documents with their summaries, from files and from the hub."""
