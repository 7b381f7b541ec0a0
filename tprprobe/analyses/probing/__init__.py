"""Edge probing: what vectors of a store know about the labels of its words.

Data goes through settings and task, labelled_words, examples (what trains and is tested), features and stored_states (what
probes read), plan and trials (what is fitted and counted), scores and rows (tables), saved_probe (a folder); run is all of it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
