"""Edge probing: what vectors of a store know about the labels of its words.

The modules in the order in which data goes through them:

    settings task     what is chosen for a run, and what is probed for
    labelled_words    the words of a store with their labels, and which documents train or are tested
    examples splits   the targets of a task and those of controls, and which of them train or are tested
    vectors batches   the vectors that probes read, and how they stream from the store
    document_counts   what probes give their test targets, counted by document
    result_table      the counts as rows with intervals and paired tests; information, in bits
    linear            probes at the one optimum of a convex loss
    span_conv         probes with hidden units, trained by steps
    probe_folder      trained probes on disk, and what they predict
    stacks run        the probes of every vector; one run of all of it

    bilinear, place_probes   another kind: what stands at which place, read from one state
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
