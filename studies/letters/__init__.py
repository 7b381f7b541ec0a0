"""Letters: four architectures that transform them, decomposed by five schemes from ten seeds of the fit."""
