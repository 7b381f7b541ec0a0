"""A film of learning: when fillers, places, bindings, systematic binding and surgery appear, checkpoint by checkpoint."""
