"""How a text is matched, step by step: for people who want to see how it works.

What is traced is the automaton of `reference.py`, in plain Python, on the words that the kernel finds (`split.py`). So
what comes out are the tokens of `Tokenizer.encode` and of `Dictionary.encode`.

Source: Song et al., "Fast WordPiece Tokenization", EMNLP 2021, section 3: Algorithm 1, and the table of its steps on
"abcdz".
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from beam_wordpiece.reference import UNKNOWN_CHARACTER, FewestTable, LinMaxMatch, Node, StretchMatch
from beam_wordpiece.show.matching import matcher, pops_of, tokens_in
from beam_wordpiece.show.split import Part
from beam_wordpiece.show.subject import Found, Place, Pop, Subject


@dataclass(frozen=True)
class Step:
    """One turn of the loop, at the character with the index `i` of the word.

    `character`: the next one, None at the end of the word. `move`: "edge" (delta(u, c) is there, and c is read),
    "failure" (it is not: on to f(u), popping F(u)), "unknown" (c begins no token where it stands, and is read as an
    unknown one), "stuck" (there is no failure link: the word is unknown). `to`: the node after it, None where it is
    stuck. `pops`: the tokens that are certain with this step, in the order of the text.

    Where the text is matched backward, the next character is the one before those that were read, and the end is the
    beginning of the word, with the index -1.
    """

    i: int
    character: str | None
    node: Place
    move: str
    to: Place | None
    pops: tuple[Pop, ...]


@dataclass(frozen=True)
class Rest:
    """A row of the table of the fewest tokens: the rest of a word from the character with the index `i`.

    `cost`: the least that the rest can cost, infinite where it has no split. `first`: its first token, which ends
    before the index `end`; None at the end of the word and where there is no split. `is_taken`: whether the split
    that is taken has this token.
    """

    i: int
    character: str | None
    cost: float
    first: Pop | None
    end: int
    is_taken: bool


@dataclass(frozen=True)
class Traced:
    """A part of a text with its steps, or the table of the fewest tokens, and its tokens.

    An added token has no steps: it is found before words are split. Nor has a word of more characters than the limit,
    which is unknown. `refused`: the unknown character for which the whole text is refused; there are no tokens then.
    """

    part: Part
    steps: tuple[Step, ...]
    table: tuple[Rest, ...]
    found: tuple[Found, ...]
    refused: str | None = None


def trace(subject: Subject, text: str) -> list[Traced]:
    """The parts of a text in order. All their tokens are those of `encode`, without the special tokens of the template.

    The last part is the first that is refused, if one is.
    """
    parts = subject.split(text)
    strings = [subject.turned(part.string) for part in parts if subject.is_matched(part)]
    fewest = FewestTable(tokens_in(subject, strings) if subject.is_fewest else [], subject.indicator)
    automaton = matcher(subject, strings if not subject.is_fewest else [])
    found = list[Traced]()
    for part in parts:
        if part.id is not None:
            found.append(Traced(part, (), (), (Found(part.string, part.id),)))
        elif subject.is_too_long(part):
            found.append(Traced(part, (), (), (subject.unk,)))
        elif subject.is_fewest:
            found.append(_of_table(subject, part, fewest))
        else:
            found.append(_of_steps(subject, part, automaton))
        if found[-1].refused is not None:
            break
    return found


def _of_steps(subject: Subject, part: Part, automaton: LinMaxMatch) -> Traced:
    taken = tuple(steps(subject, automaton, subject.turned(part.string)))
    if taken[-1].move == "stuck":
        return Traced(part, taken, (), (subject.unk,))
    # What is matched backward pops the last tokens first.
    order = taken[::-1] if subject.options.backward else taken
    return _finished(subject, part, taken, (), list(itertools.chain.from_iterable(step.pops for step in order)))


def _finished(
    subject: Subject, part: Part, steps: tuple[Step, ...], table: tuple[Rest, ...], pops: Sequence[Pop]
) -> Traced:
    if subject.unknown == "error":
        refused = next((pop.text for pop in pops if pop.token is None), None)
        if refused is not None:
            return Traced(part, steps, table, (), refused)
    return Traced(part, steps, table, tuple(subject.found(pops)))


def _of_table(subject: Subject, part: Part, fewest: FewestTable) -> Traced:
    string = part.string
    cost = None if subject.unknown in ("word", "error") else subject.options.unknown_cost
    best = fewest.fill(string, cost)
    taken, place = set[int](), 0
    while place < len(string) and best[0][0] < math.inf:
        taken.add(place)
        place = best[place][2]
    rows = tuple(
        Rest(i, string[i : i + 1] or None, least, _first(string[i:end], token, least), end, i in taken)
        for i, (least, token, end) in enumerate(best)
    )
    if not taken and subject.unknown == "word":
        return Traced(part, (), rows, (subject.unk,))
    if not taken:
        # With this cost no character is unknown that need not be.
        best = fewest.fill(string, len(string) + 1)
        place = 0
        while best[place][1] != UNKNOWN_CHARACTER:
            place = best[place][2]
        return Traced(part, (), rows, (), string[place])
    pops = [row.first for row in rows if row.is_taken and row.first is not None]
    return _finished(subject, part, (), rows, pops)


def _first(text: str, token: str, cost: float) -> Pop | None:
    """The first token of a rest of a word, from its row in the table."""
    return None if text == "" or cost == math.inf else Pop(token or None, text)


def steps(subject: Subject, automaton: LinMaxMatch, string: str) -> Iterator[Step]:
    """The steps of Algorithm 1 on a word, or on a stretch where the automaton is that of stretches.

    `string`: in the order in which it is read. At the end it goes on along failure links as before a character that has
    no edge, until it is at a root.
    """
    suffix_root = subject.suffix_root
    u, root = automaton.r, "r"

    def place(node: Node, root: str, end: int) -> Place:
        return Place(root, string[end - node.depth : end])

    for read, c in enumerate([*string, None]):
        i = len(string) - 1 - read if subject.options.backward else read
        while (v := None if c is None else automaton.delta(u, c)) is None and u.f is not None:
            here = place(u, root, read)
            yield Step(i, c, here, "failure", place(u.f, suffix_root, read), pops_of(subject, here, u))
            u, root = u.f, suffix_root
        if v is not None:
            yield Step(i, c, place(u, root, read), "edge", place(v, root, read + 1), ())
            u = v
        elif c is not None and isinstance(automaton, StretchMatch):
            here = place(u, root, read)
            yield Step(i, c, here, "unknown", Place(suffix_root, ""), (Pop(None, c),))
            u, root = automaton.r_sharp, suffix_root
        elif c is not None or u not in (automaton.r, automaton.r_sharp):
            yield Step(i, c, place(u, root, read), "stuck", None, ())
            return
