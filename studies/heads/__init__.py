"""What the heads of a study's models learned, seed by seed."""
