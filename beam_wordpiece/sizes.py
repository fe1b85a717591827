"""What an automaton file is made of: bytes a token, and the share of each part, for people."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

# The 16 bytes of a node: where it and its children stand, its failure link, its failure pops.
NODE = {"trie": 0.5, "failure links": 0.25, "failure pops": 0.25}
NODES = "trie: nodes and failure links"
# The part of a section by what its name begins with; what is not here is "other", as are the gaps between sections.
PARTS = {
    "trie": "trie",
    "failure pops": "failure pops",
    "transducer": "transitions",
    "words": "whole words",
    "long words": "whole words",
    "code points": "code points",
    "vocabulary": "tokens and ids",
    "metadata": "metadata",
}
OTHER = "other"


def describe_size(sections: Iterable[tuple[str, int]], size: int, tokens: int) -> dict[str, Any]:
    """`size` in bytes, `bytes_per_token`, and `percent_of_size` of each part that there is.

    The trie, failure links and failure pops with their pool (in the transducer the transitions); tables of whole words;
    what becomes of each code point; tokens and ids, for people and for decoding; metadata, in a dictionary its ids.
    """
    parts: dict[str, float] = {}
    for name, length in sections:
        shares = NODE if name == NODES else {PARTS.get(name.partition(":")[0], OTHER): 1.0}
        for part, share in shares.items():
            parts[part] = parts.get(part, 0) + share * length
    parts.pop(OTHER, None)
    parts[OTHER] = size - sum(parts.values())
    return {
        "size": size,
        "bytes_per_token": round(size / tokens, 1) if tokens else None,
        "percent_of_size": {part: round(100 * length / size, 2) for part, length in parts.items() if length},
    }
