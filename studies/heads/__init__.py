"""What the heads of a study's models learnt, seed by seed."""
