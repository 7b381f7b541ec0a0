"""Glossary: the words and the axis names used in every signature of this package.

Tensor-product representations (TPR)
    filler   a content vector: what is said.
    role     a structure vector: the place in the structure that a filler takes.
    binding  a filler bound to its role: the tensor product f ⊗ r (``outer``) or its diagonal f ⊙ r (``hadamard``).
    tpr      what a sub-layer makes of its bindings: their sum over heads, mapped back to the model's width.
    unbinding  a dual of a role: the vector u that recovers a filler from a TPR, f = S u.
    role_embedding  a dictionary of discrete roles; ``role_weights`` are the attention over its entries.

Axes
    batch     samples of a batch                     token     all tokens of a store, samples one after another
    seq       positions of a (padded) sequence       query, key  positions that attend, that are attended to
    head      attention heads                        d_head    width of one head (d_role of a role)
    key_head  heads of keys and values where these are fewer (grouped-query attention)
    d_model   width of the residual stream           d_ff      width of the feed-forward layer
    vocab     symbols of the vocabulary              n_roles   entries of the role dictionary
    layer     layers, counted from 0 (a negative number counts from the last)
    cluster   clusters of roles                      sample    questions, documents or images
    unit      samples or tokens with a vector each   pair      pairs of a filler and a role that occur
    place, label  labelled places of a sample, and different labels     symbol  fillers or roles
    filler, role_  different fillers, different roles  d_filler, d_role  widths of their factors
"""
