"""WordPiece on one word, or on text that is not split into words, in plain Python: for reading, and as the oracle of
the tests. The Rust kernel is what is fast.

Source: Song, Salcianu, Song, Dopson, Zhou, "Fast WordPiece Tokenization", EMNLP 2021, section 3 (one word at a time).
The names are the paper's:

    w, s, i                  the word, the text that is scanned, the index of its next character
    r, r_sharp               the root, and the suffix root r#: the node from which continuing pieces are matched
    delta(u, c)              the trie's edge from node u by character c, or None
    chi                      the token that a node spells, or None
    f, F                     failure links and failure pops
    MatchLoop, precompute    Algorithm 1 and Algorithm 2
    delta_prime, sigma_prime transitions and output of the transducer (class `Transducer`)

Why it works: let v be a node, and pop the longest vocabulary prefix off the string of v, again and again,
until what is left is a path below r#. The popped tokens are F(v), the node of what is left is f(v). When no edge of v
fits the next character, MaxMatch would go back and do exactly this; here it was done once for all words. f(v) is None
where it gets stuck: then the word has no tokens. f(v) is *not* the longest suffix of v that is on the trie, as in
Aho-Corasick: with {a, abcdx, ##b, ##c, ##cdy, ##dz} the word abcdz is a, ##b, ##c, ##dz.

One thing is not as in the paper. There r# is the node that the suffix indicator spells in the trie of r, and a word
that itself begins with the indicator is a special case. Here r and r# have a trie each. r's holds every token as it is
written, r#'s the tokens that begin with the indicator, without it. So a word may begin with the indicator, and the
indicator may be a token, or have a token as its prefix: HuggingFace's WordPiece model gives the same tokens in all
these cases. With an empty indicator, r and r# are one node.

Text that is not split into words (`StretchMatch`) has tokens wherever it can have them: a character that begins none
where it stands is unknown by itself, and matching goes on behind it, at r#. Popping then never gets stuck: where
Algorithm 2 has no edge for c at a root, c itself is popped as unknown. So every node but the roots has a failure link.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence

# What stands for one unknown character among the tokens of a stretch, and in failure pops. It is no token: an empty one
# would match without reading.
UNKNOWN_CHARACTER = ""


class Node:
    """A node of the trie: its edges, the token that it spells, its failure link and its failure pops."""

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.edges: dict[str, Node] = {}
        self.chi: str | None = None
        self.f: Node | None = None
        self.F: list[str] = []


class LinMaxMatch:
    """Longest-match-first tokens of a word, in time linear in the word's length.

    `vocabulary`: the tokens. `suffix_indicator`: what a token begins with that continues a word; any string, or empty.
    `max_input_chars_per_word`: a word of more characters (code points) than this has no tokens.
    """

    def __init__(
        self, vocabulary: Iterable[str], suffix_indicator: str = "##", max_input_chars_per_word: int = 100
    ) -> None:
        self.max_input_chars_per_word = max_input_chars_per_word
        self.r = Node(0)
        self.r_sharp = Node(0) if suffix_indicator else self.r
        for token in vocabulary:
            self._insert(self.r, token, token)
            if token.startswith(suffix_indicator):
                self._insert(self.r_sharp, token.removeprefix(suffix_indicator), token)
        self._precompute()

    def tokenize_word(self, word: str) -> list[str] | None:
        """The tokens of `word`, none for an empty one; None where MaxMatch finds no tokens: [UNK] stands for it."""
        if len(word) > self.max_input_chars_per_word:
            return None
        tokens, u, i = self._match_loop(word)
        # What is still held back is popped like before a character that has no edge: the white space of Algorithm 1.
        while u.f is not None:
            tokens.extend(u.F)
            u = u.f
        if i < len(word) or u not in (self.r, self.r_sharp):
            return None
        return tokens

    def delta(self, u: Node, c: str) -> Node | None:
        """Where the edge of `u` by the character `c` leads."""
        return u.edges.get(c)

    def _match_loop(self, s: str) -> tuple[list[str], Node, int]:
        """Algorithm 1's MatchLoop: the tokens popped, the last node, and how many characters were read."""
        u, tokens = self.r, list[str]()
        for i, c in enumerate(s):
            while (v := self.delta(u, c)) is None:
                if u.f is None:
                    return tokens, u, i
                tokens.extend(u.F)
                u = u.f
            u = v
        return tokens, u, len(s)

    def _precompute(self) -> None:
        """Algorithm 2: failure links and pops of all nodes, breadth first: those of shorter strings are then known."""
        queue = deque([self.r] if self.r is self.r_sharp else [self.r, self.r_sharp])
        while queue:
            u = queue.popleft()
            for c, v in u.edges.items():
                queue.append(v)
                if v.chi is not None:
                    v.f, v.F = self.r_sharp, [v.chi]
                    continue
                z, Z = u.f, u.F
                while z is not None and self.delta(z, c) is None:
                    Z, z = Z + z.F, z.f
                if z is not None:
                    v.f, v.F = z.edges[c], Z
                else:
                    self._stuck(v, Z)

    def _stuck(self, v: Node, Z: list[str]) -> None:
        """`Z` comes off the front of the string of `v`, and no token begins with what is left, its last character."""

    def _insert(self, root: Node, path: str, token: str) -> None:
        """Add `token` to the trie at the end of `path`. An empty path would match without reading: it is no match."""
        u = root
        for c in path:
            u = u.edges.setdefault(c, Node(u.depth + 1))
        if u is not root:
            u.chi = token


class StretchMatch(LinMaxMatch):
    """Longest-match-first tokens of a stretch of text, white space and all, in time linear in its length."""

    def __init__(self, vocabulary: Iterable[str], suffix_indicator: str = "##") -> None:
        super().__init__(vocabulary, suffix_indicator)

    def tokenize_stretch(self, text: str) -> list[str]:
        """The tokens of `text`, with UNKNOWN_CHARACTER for each character that begins none where it stands."""
        u, tokens = self.r, list[str]()
        for c in text:
            while (v := self.delta(u, c)) is None and u.f is not None:
                tokens.extend(u.F)
                u = u.f
            if v is None:
                tokens.append(UNKNOWN_CHARACTER)
                v = self.r_sharp
            u = v
        while u.f is not None:
            tokens.extend(u.F)
            u = u.f
        return tokens

    def _stuck(self, v: Node, Z: list[str]) -> None:
        v.f, v.F = self.r_sharp, [*Z, UNKNOWN_CHARACTER]


class Transducer:
    """The same automaton without failure transitions: the finite-state transducer of the paper.

    For each node `u` and character `c` there is one transition at most: to `delta_prime[u][c]`, with the tokens
    `sigma_prime[u][c]` written on the way. They are what MatchLoop does before it has read `c`, done beforehand:

        delta_prime(u, c) = delta(u, c)          sigma_prime(u, c) = []                         where u has an edge by c
        delta_prime(u, c) = delta_prime(f(u), c) sigma_prime(u, c) = F(u) + sigma_prime(f(u), c)    where it has not

    `rest[u]` is what is written at the end of a word, the paper's sigma_prime by white space, if anything can be.
    Source: the paper's remark on finite-state transducers. All of it is stored, which for n nodes may take n² room.
    """

    def __init__(self, matcher: LinMaxMatch) -> None:
        self.matcher = matcher
        self.delta_prime: dict[Node, dict[str, Node]] = {}
        self.sigma_prime: dict[Node, dict[str, list[str]]] = {}
        self.rest: dict[Node, list[str]] = {matcher.r: [], matcher.r_sharp: []}
        # Breadth first: failure links lead to smaller depths.
        queue = deque([matcher.r, matcher.r_sharp])
        while queue:
            u = queue.popleft()
            self._eliminate(u)
            queue.extend(u.edges.values())

    def tokenize_word(self, word: str) -> list[str] | None:
        """The tokens of `word`, as `LinMaxMatch.tokenize_word` gives them."""
        if len(word) > self.matcher.max_input_chars_per_word:
            return None
        u, tokens = self.matcher.r, list[str]()
        for c in word:
            if c not in self.delta_prime[u]:
                return None
            tokens += self.sigma_prime[u][c]
            u = self.delta_prime[u][c]
        return tokens + self.rest[u] if u in self.rest else None

    def _eliminate(self, u: Node) -> None:
        """The transitions of `u`, from those of its failure link."""
        self.delta_prime[u], self.sigma_prime[u] = dict(u.edges), {c: [] for c in u.edges}
        if u.f is None:
            return
        for c in self.delta_prime[u.f].keys() - u.edges.keys():
            self.delta_prime[u][c] = self.delta_prime[u.f][c]
            self.sigma_prime[u][c] = u.F + self.sigma_prime[u.f][c]
        if u.f in self.rest:
            self.rest[u] = u.F + self.rest[u.f]


def max_match(
    vocabulary: Iterable[str], word: str, suffix_indicator: str = "##", max_input_chars_per_word: int = 100
) -> list[str] | None:
    """What is to be computed, MaxMatch: the longest token that the rest of the word begins with, again and again.

    Quadratic, or worse: it tries every end for every start. Parameters and result are those of `LinMaxMatch`.
    """
    tokens = set(vocabulary)
    if len(word) > max_input_chars_per_word:
        return None
    found, start = list[str](), 0
    while start < len(word):
        indicator = suffix_indicator if start else ""
        ends = (end for end in range(len(word), start, -1) if indicator + word[start:end] in tokens)
        end = next(ends, None)
        if end is None:
            return None
        found.append(indicator + word[start:end])
        start = end
    return found


def max_match_stretch(vocabulary: Iterable[str], text: str, suffix_indicator: str = "##") -> list[str]:
    """What `StretchMatch` is to compute, by trying every end for every start. Parameters and result are the same."""
    tokens = set(vocabulary)
    found, start = list[str](), 0
    while start < len(text):
        indicator = suffix_indicator if start else ""
        ends = (end for end in range(len(text), start, -1) if indicator + text[start:end] in tokens)
        end = next(ends, None)
        found.append(UNKNOWN_CHARACTER if end is None else indicator + text[start:end])
        start = start + 1 if end is None else end
    return found


def backward_max_match(vocabulary: Iterable[str], text: str) -> list[str]:
    """MaxMatch from the end: the longest token that what is left of the text ends with, again and again.

    A character that no token ends with where it stands is an UNKNOWN_CHARACTER. The tokens are in the order of the
    text. There is no suffix indicator. Quadratic, or worse.
    """
    tokens = set(vocabulary)
    found, end = list[str](), len(text)
    while end > 0:
        start = next((start for start in range(end) if text[start:end] in tokens), None)
        found.append(UNKNOWN_CHARACTER if start is None else text[start:end])
        end = end - 1 if start is None else start
    return found[::-1]


def fewest_tokens(
    vocabulary: Iterable[str], text: str, suffix_indicator: str = "##", unknown_cost: int | None = None
) -> list[str] | None:
    """A split of a word or a stretch of text into the fewest tokens, an unknown character counting as `unknown_cost`.

    Without a cost there are no unknown characters, and None says that there is no split. Of several splits it is the
    one whose first token is longest, or if that is equal the second, and so on; a token comes before an unknown
    character. Shortest paths in a graph without circles: the length of the text times that of the longest token.
    """
    best = FewestTable(vocabulary, suffix_indicator).fill(text, unknown_cost)
    if best[0][0] == float("inf"):
        return None
    found, place = list[str](), 0
    while place < len(text):
        _, token, place = best[place]
        found.append(token)
    return found


class FewestTable:
    """The table of `fewest_tokens`, for the texts of one vocabulary, with its parameters."""

    def __init__(self, vocabulary: Iterable[str], suffix_indicator: str = "##") -> None:
        self.tokens = set(vocabulary)
        self.longest = max(map(len, self.tokens), default=0)
        self.suffix_indicator = suffix_indicator

    def fill(self, text: str, unknown_cost: int | None = None) -> list[tuple[float, str, int]]:
        """For each place of a text, its end too, the least cost of the rest, its first token, and where that ends.

        The cost is infinite where there is no split.
        """
        unknown = float("inf") if unknown_cost is None else unknown_cost
        best: list[tuple[float, str, int]] = [(0, "", len(text))] * (len(text) + 1)
        for start in reversed(range(len(text))):
            indicator = self.suffix_indicator if start else ""
            best[start] = (unknown + best[start + 1][0], UNKNOWN_CHARACTER, start + 1)
            for end in range(start + 1, min(start + self.longest, len(text)) + 1):
                token, cost = indicator + text[start:end], 1 + best[end][0]
                # The later ones are longer.
                if token in self.tokens and cost <= best[start][0]:
                    best[start] = (cost, token, end)
        return best


def replace_unknown(
    vocabulary: Iterable[str], tokens: Sequence[str], text: str, suffix_indicator: str, unknown: str, unk_token: str
) -> list[tuple[str, int, int]]:
    """The tokens of a text with what stands for each UNKNOWN_CHARACTER, and where each stands: its start and end.

    `unknown`: "character" puts `unk_token` for each, "run" one for all that stand side by side, "byte" the tokens of
    its bytes in UTF-8 where the vocabulary has all of them, and "error" raises ValueError with the character.
    """
    known = set(vocabulary)
    found, end, in_run = list[tuple[str, int, int]](), 0, False
    for token in tokens:
        length = len(token) - (len(suffix_indicator) if end else 0)
        start, end = end, end + (length if token != UNKNOWN_CHARACTER else 1)
        was_in_run, in_run = in_run, token == UNKNOWN_CHARACTER and unknown == "run"
        if token != UNKNOWN_CHARACTER:
            found.append((token, start, end))
        elif unknown == "error":
            raise ValueError(text[start])
        elif in_run and was_in_run:
            found[-1] = (unk_token, found[-1][1], end)
        else:
            names = [f"<0x{byte:02X}>" for byte in text[start].encode()] if unknown == "byte" else []
            found += [(name, start, end) for name in (names if names and known.issuperset(names) else [unk_token])]
    return found


def apply_rules(rules: Mapping[str, str], text: str) -> list[tuple[str, int, int]]:
    """A text after transformation rules: its characters, and from which to which of the old ones each comes.

    Of the keys that begin at a place the longest counts, and what stands for it is not looked at again.
    """
    found, start = list[tuple[str, int, int]](), 0
    while start < len(text):
        keys = [key for key in rules if text.startswith(key, start)]
        key = max(keys, key=len, default=text[start])
        end = start + len(key)
        found += [(c, start, end) for c in rules.get(key, key)]
        start = end
    return found


def match_dictionary(
    entries: Iterable[str], text: str, backward: bool = False, unknown_cost: int | None = None
) -> list[tuple[str | None, int, int]]:
    """What a `Dictionary` is to compute, by trying every end for every start: ids, first characters and ends.

    An entry is `<key>:<id>`, and the first of equal keys wins. The id is None for a character that begins no key (with
    `backward`, ends none). With an `unknown_cost` it is the split into the fewest keys.
    """
    ids = dict(reversed([entry.rsplit(":", 1) for entry in entries]))
    if unknown_cost is not None:
        keys = fewest_tokens(ids, text, "", unknown_cost) or []
    else:
        keys = backward_max_match(ids, text) if backward else max_match_stretch(ids, text, "")
    found, start = list[tuple[str | None, int, int]](), 0
    for key in keys:
        end = start + max(len(key), 1)
        found.append((ids.get(key), start, end))
        start = end
    return found


def find_keys(entries: Iterable[str], text: str) -> list[tuple[int, int, str]]:
    """Every occurrence of every key in a text, by trying all ends for all starts: first characters, ends and ids.

    By their ends, and those with the same end by their starts. Entries are those of `match_dictionary`.
    """
    ids = dict(reversed([entry.rsplit(":", 1) for entry in entries]))
    places = ((start, end) for end in range(1, len(text) + 1) for start in range(end))
    return [(start, end, ids[text[start:end]]) for start, end in places if text[start:end] in ids]


def find_leftmost_longest(entries: Iterable[str], text: str) -> list[tuple[int, int, str]]:
    """Of these the one that begins first, the longest if several do, and so on from its end: nothing overlaps."""
    found, end = list[tuple[int, int, str]](), 0
    for occurrence in sorted(find_keys(entries, text), key=lambda occurrence: (occurrence[0], -occurrence[1])):
        if occurrence[0] >= end:
            found.append(occurrence)
            end = occurrence[1]
    return found


def merge_by_rank(symbols: Iterable[str], merges: Sequence[tuple[str, str]], prefix: str = "") -> list[str]:
    """Byte-pair encoding by its definition: of all neighbours the pair first in `merges`, the leftmost, is merged.

    `prefix` begins each symbol but the first, and is left out of the second of a pair. Quadratic, or worse.
    """
    ranks = {pair: rank for rank, pair in enumerate(merges)}
    found = list(symbols)
    while True:
        pairs = [(ranks[pair], i) for i in range(len(found) - 1) if (pair := (found[i], found[i + 1])) in ranks]
        if not pairs:
            return found
        _, i = min(pairs)
        found[i : i + 2] = [found[i] + found[i + 1].removeprefix(prefix)]
