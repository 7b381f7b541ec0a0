"""How every number comes about, once: splits, controls, metrics, intervals, results."""
