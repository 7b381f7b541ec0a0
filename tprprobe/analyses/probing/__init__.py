"""Edge probing: what vectors of a store know about the labels of its words.

Data goes through settings and task, labelled_words, examples (what trains and is tested), inputs (what probes read),
linear or span_conv (the probes), document_counts, result_table and probe_folder (what is kept); run is all of it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
