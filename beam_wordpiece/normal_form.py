"""The normal form of a WordPiece vocabulary: a marker before the tokens that begin a word, none on those that go on.

The ordinary form marks what continues a word: `walk`, `##ing`, and `walking` is matched from two roots, first among all
tokens, then among those with `##`. In the normal form the same tokens are ` walk` and `ing`, a marker is put before the
word, and ` walking` is matched from one root. It is what vocabularies with word-initial markers (`▁walk`) look like, so
vocabularies of both kinds can be compared, merged and edited alike. Ids stay what they are.

That MaxMatch finds the same ids rests on what BertPreTokenizer makes a word: no white space is in it, and no ASCII
punctuation but where that one character is the whole word. A token that no word can hold (`[UNK]`, `...`, a space)
stays as it is. Three things could go wrong, and each is refused, with the tokens that are at fault:

- two tokens would be equal;
- a token without the marker would match at the front of a word, over the marker;
- a token with the marker would match inside a word, where the text has the marker. A marker with white space or ASCII
  punctuation is not inside words. Of any other, one character has to be in no token. Words with that character are
  unknown, and stay so: another character that is in no token stands in for it (`stand_in`).
"""

from __future__ import annotations

import itertools
import string
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from beam_wordpiece.checks import WHITE_SPACE, is_text
from beam_wordpiece.errors import ConfigError, VocabularyError

PUNCTUATION = frozenset(string.punctuation)
# As many faults are named in one message.
NAMED = 5


def can_be_word(text: str) -> bool:
    """Whether BertPreTokenizer could make this a word. Other punctuation than ASCII's is not looked at: then it may."""
    if len(text) == 1:
        return text not in WHITE_SPACE
    return text != "" and not (set(text) & PUNCTUATION or set(text) & set(WHITE_SPACE))


def forms_of(token: str, marker: str, prefix: str) -> list[str]:
    """What a token is in the normal form: mostly one text, two where it may both begin a word and go on in one.

    The first one is that at the beginning of a word, if there is one. `prefix`: what continuing tokens begin with.
    """
    found = [marker + token] if can_be_word(token) else []
    if token.startswith(prefix) and can_be_word(token.removeprefix(prefix)):
        found.append(token.removeprefix(prefix))
    return found or [token]


@dataclass(frozen=True)
class NormalForm:
    """A vocabulary with word-initial markers.

    `tokens`: text to id. The two texts of one token have one id. `marker`: what is put before each word.
    `continuing_subword_prefix`: what the ordinary form has on continuing tokens. `unk_token`: its name here.
    `stand_in`: a character of text and the one that is put for it, or None where the text stays as it is.
    """

    tokens: Mapping[str, int]
    marker: str
    continuing_subword_prefix: str
    unk_token: str
    stand_in: tuple[str, str] | None

    def word(self, word: str) -> str:
        """What is matched for a word, from one root. It is longer by the marker, and so has to be the word limit."""
        return self.marker + (word.replace(*self.stand_in) if self.stand_in else word)

    def original_tokens(self) -> dict[str, int]:
        """The way back: the tokens with continuation markers, and their ids."""
        begins = dict[int, str]()
        others = dict[int, str]()
        for form, number in self.tokens.items():
            bare = form.removeprefix(self.marker)
            if form.startswith(self.marker) and can_be_word(bare):
                begins[number] = bare
            else:
                others[number] = (self.continuing_subword_prefix if can_be_word(form) else "") + form
        numbers = dict.fromkeys(self.tokens.values())
        return {begins[number] if number in begins else others[number]: number for number in numbers}

    def shared(self) -> list[str]:
        """The texts that share their id with an earlier one: tokens that both begin words and go on in them."""
        first = dict[int, str]()
        return [form for form, number in self.tokens.items() if first.setdefault(number, form) != form]


def normal_form(
    tokens: Mapping[str, int], marker: str, prefix: str, unk_token: str, added: Mapping[str, bool] | None = None
) -> NormalForm:
    """The normal form of tokens with continuation markers.

    `prefix`: the continuation marker, any text or empty. `added`: the contents of the added tokens, and whether each is
    `normalized`; those that are in `tokens` keep their text too, since HF finds their ids by it. Raises ConfigError for
    a marker that is no text or empty, VocabularyError where ids could change, with the tokens that are at fault.
    """
    added = added or {}
    if not is_text(marker) or marker == "":
        raise ConfigError(f"The marker has to be a text that is not empty, not {marker!r}.")
    forms = list(_all_forms(tokens, marker, prefix, added))
    faults = list(_collisions(forms, marker, prefix, added))
    strange = None
    if _inside_words(marker):
        strange = _strange_character(tokens, marker, prefix)
        faults += _faults_of_strange(strange, tokens, marker, prefix, added)
    if faults:
        more = f" (and {len(faults) - NAMED} more)" if len(faults) > NAMED else ""
        raise VocabularyError(
            f"the marker {marker!r} cannot be put before words: {'; '.join(faults[:NAMED])}{more}. Ids would change: "
            "choose another marker, such as a space."
        )
    stand_in = (strange, _stand_in(strange, tokens, added)) if strange else None
    numbers = {form: tokens[token] for form, token in forms}
    return NormalForm(numbers, marker, prefix, forms_of(unk_token, marker, prefix)[0], stand_in)


def _inside_words(text: str) -> bool:
    """Whether a word may have this text in it, and be longer."""
    return can_be_word(text) and text not in PUNCTUATION


def _all_forms(
    tokens: Mapping[str, int], marker: str, prefix: str, added: Mapping[str, bool]
) -> Iterator[tuple[str, str]]:
    """Each form, and the token that it is a form of."""
    for token in tokens:
        forms = forms_of(token, marker, prefix)
        for form in [*forms, token] if token in added and token not in forms else forms:
            yield form, token


def _collisions(forms: Iterable[tuple[str, str]], marker: str, prefix: str, added: Mapping[str, bool]) -> Iterator[str]:
    """What would be equal, or would match where it must not: a clause for each."""
    owners: dict[str, str] = {}
    for form, token in forms:
        if owners.setdefault(form, token) != token:
            yield f"the tokens {owners[form]!r} and {token!r} would both be {form!r}"
        elif form == token and _inside_words(form) and form not in forms_of(token, marker, prefix):
            yield f"the added token {token!r} would also be found inside words"
        elif form not in (marker + token, "") and _matches_marker(form, marker):
            yield f"the token {token!r} would be {form!r} and be found at the beginning of words"
    for content in added:
        if owners.get(content, content) != content:
            yield f"the token {owners[content]!r} would be {content!r}, as the added token is"


def _matches_marker(form: str, marker: str) -> bool:
    """Whether a form that is not one of the beginning of a word matches the front of a word with the marker."""
    return marker.startswith(form) or (form.startswith(marker) and can_be_word(form.removeprefix(marker)))


def _found_texts(tokens: Iterable[str], prefix: str) -> Iterator[tuple[str, str]]:
    """What the ordinary form can find in words: the text, and the token."""
    for token in tokens:
        for text in (token, token.removeprefix(prefix)) if token.startswith(prefix) else (token,):
            if can_be_word(text):
                yield text, token


def _strange_character(tokens: Iterable[str], marker: str, prefix: str) -> str | None:
    """The first letter, digit or symbol of the marker that no token finds in a word, so that it makes words unknown."""
    found = set[str]().union(*(text for text, _ in _found_texts(tokens, prefix)))
    return next((c for c in marker if c not in found and unicodedata.category(c)[0] in "LNS"), None)


def _faults_of_strange(
    strange: str | None, tokens: Iterable[str], marker: str, prefix: str, added: Mapping[str, bool]
) -> Iterator[str]:
    """Why words could have the marker in them, or added tokens what stands in for it: a clause for each."""
    if strange is None:
        holders = (token for text, token in _found_texts(tokens, prefix) if set(text) & set(marker))
        holder = next(holders, None)
        yield "words may have it in them" + (f", as the token {holder!r} has {marker[0]!r}" if holder else "")
        return
    for content, normalized in added.items():
        if normalized and any(strange in text for text in spellings(content)):
            yield f"the added token {content!r} has {strange!r}, which could not be found any more"


def _stand_in(strange: str, tokens: Iterable[str], added: Iterable[str]) -> str:
    """The nearest character of the same Unicode category that is in no token."""
    taken = set[str]().union(*tokens, *itertools.chain.from_iterable(map(spellings, added)), strange)
    places = (ord(strange) + sign * step for step in itertools.count(1) for sign in (1, -1))
    candidates = (chr(place) for place in places if 0 <= place <= sys.maxunicode)
    return next(c for c in candidates if c not in taken and unicodedata.category(c) == unicodedata.category(strange))


def spellings(content: str) -> set[str]:
    """What an added token may become when it is normalized: with any of BertNormalizer's options on or off."""
    found = {content, content.lower()}
    found |= {unicodedata.normalize("NFD", text) for text in found}
    for dropped in (("Mn",), ("Cc", "Cf", "Co")):
        found |= {"".join(c for c in text if unicodedata.category(c) not in dropped) for text in found}
    return found
