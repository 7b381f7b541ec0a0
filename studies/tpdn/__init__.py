"""TPDN's table, made anew: GRUs that transform digits through one vector, and their decompositions."""
