"""The authors' checkpoints, read into our layout."""
