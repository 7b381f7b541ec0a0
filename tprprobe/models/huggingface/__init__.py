"""Models of the library transformers with sites: ``hf:PATH``, a folder or a hub id of any model that reads text.

Where the layers, their attention and their feed-forward layer are is found by running the model once
(:mod:`.anatomy`), so that architectures need no list. docs/probing.md lists the sites.
"""

from tprprobe.models.huggingface.pretrained import read_transformers

__all__ = ["read_transformers"]
