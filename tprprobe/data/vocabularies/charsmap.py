"""Tables of characters that SentencePiece models bring along, checked before a library follows them.

A table is the size of a trie in bytes, the trie (a double array of units, Darts), and texts that end in
zero bytes. From the base of a node the unit at ``base ^ byte`` leads on where its label is that byte. The
library takes every number in it for true, and dies of one that leads out.
Source: github.com/huggingface/spm_precompiled, src/lib.rs.
"""

import base64
import binascii
from collections.abc import Iterator
from typing import Any

import numpy as np
from jaxtyping import UInt32

from tprprobe.errors import InputError

LARGEST = 2**23  # bytes; T5's has 237,561
BYTES = np.arange(1, 256, dtype=np.uint32)
AT_ONCE = 2**12  # nodes whose branches are followed together
LEAF, LABEL, VALUE = np.uint32(1 << 8), np.uint32((1 << 31) | 0xFF), np.uint32((1 << 31) - 1)


def check_charsmap(table: bytes) -> None:
    """Checks that no text leads out of a table."""
    size = int.from_bytes(table[:4], "little")
    if not 4 <= size <= len(table) - 4 <= LARGEST or size % 4:
        raise InputError(f"its table of characters has a trie of {size:,} of {len(table):,} bytes")
    units = np.frombuffer(table, "<u4", size // 4, 4)
    texts = table[4 + size :]
    try:
        texts.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"its table of characters holds no texts ({error})") from None
    starts = np.frombuffer(texts + b"\0", np.uint8) & 0xC0 != 0x80  # of characters
    for values in _values(units):
        if (values > len(texts)).any() or not starts[values].all():
            raise InputError("its table of characters leads out of its texts")


def _values(units: UInt32[np.ndarray, " unit"]) -> Iterator[UInt32[np.ndarray, " leaf"]]:
    """What the leaves that a text can reach hold; every node is followed once."""
    seen = np.zeros(len(units), bool)
    bases = _offsets(units[:1])
    while len(bases):
        if (bases.astype(np.int64) | 0xFF >= len(units)).any():
            raise InputError("its table of characters leads out of its trie")
        bases = np.unique(bases[~seen[bases]])
        seen[bases] = True
        found = [_branches(units, bases[i : i + AT_ONCE]) for i in range(0, len(bases), AT_ONCE)]
        nodes = np.concatenate([each for each, _ in found] or [bases])
        yield from (values for _, values in found)
        bases = nodes


def _branches(
    units: UInt32[np.ndarray, " unit"], bases: UInt32[np.ndarray, " node"]
) -> tuple[UInt32[np.ndarray, " child"], UInt32[np.ndarray, " leaf"]]:
    """The bases that some nodes lead to, and the values of those that end a key."""
    places = bases[:, None] ^ BYTES
    held = units[places]
    follows = (held & LABEL) == BYTES
    branches, places = held[follows], places[follows]
    reached = places ^ _offsets(branches)
    ends = reached[(branches & LEAF) != 0]
    if (ends >= len(units)).any():
        raise InputError("its table of characters leads out of its trie")
    return reached, units[ends] & VALUE


def _offsets(units: UInt32[np.ndarray, " unit"]) -> UInt32[np.ndarray, " unit"]:
    return (units >> np.uint32(10)) << ((units & np.uint32(1 << 9)) >> np.uint32(6))


def check_charsmaps(settings: Any) -> None:
    """Checks every table in the settings of a tokenizer (the content of a tokenizer.json)."""
    waiting = [settings]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            _check_named(part.get("precompiled_charsmap"))
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part


def _check_named(table: Any) -> None:
    if isinstance(table, str) and table:
        try:
            check_charsmap(base64.b64decode(table, validate=True))
        except binascii.Error as error:
            raise InputError(f"its table of characters is not base64 ({error})") from None
