"""Real models: what four networks that other people trained bind, measured with the instrument alone."""
