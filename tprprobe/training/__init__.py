"""Training: recipes, the loop, its logs and processes; studies of several variants and seeds."""
