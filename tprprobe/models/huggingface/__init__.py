"""Models of the library transformers with sites: ``hf:PATH``, a folder or a hub id.

Any model that reads text: encoders, encoder-decoders and decoders alone. Where its layers, their
attention and their feed-forward layer are is found by running it once (:mod:`.anatomy`), so that
architectures need no list. Sites, where STACK is ``encoder``, ``decoder`` or, in a model that only
looks back and has one stack, ``layers``, and ATTENTION is ``self`` or ``cross``:

STACK.embedding             what the first layer reads: symbols and, in some models, their positions
STACK.L.hidden              what layer L returns
STACK.L.mlp                 what its feed-forward layer (or mixture of experts) adds to the residual
STACK.L.ATTENTION.input     what the attention reads
….query ….key ….value       per head, as they enter the product (turned by their position, where a
                            model does that); of grouped-query attention keys and values have fewer
                            heads (axis ``key_head``)
….attention                 the map
….filler                    per head, the attention's sum of values, before the output projection
"""

from tprprobe.models.huggingface.pretrained import read_transformers

__all__ = ["read_transformers"]
