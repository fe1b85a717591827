"""The parser of a command: options may stand between its arguments, and what is wrong is said in a few lines."""

from __future__ import annotations

import argparse
from typing import Any, NoReturn

from beam_wordpiece.config import TOKENIZER_OPTIONS

NO_MORE_OPTIONS = "--"


class Command(argparse.ArgumentParser):
    """The parser of one command of a program that has several."""

    def __init__(self, *args: Any, **keywords: Any) -> None:
        super().__init__(*args, **keywords)
        # What the passes over the arguments leave for each other; None where there is none.
        self._texts: list[str] | None = None
        self._said = ""

    # The program hands over what follows the command's name by this method alone.
    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As its base, with options between the arguments too. What it does not know is its own fault to tell."""
        if self._texts is not None:
            return self._pass(args, namespace)
        # Where arguments are set aside, they are missing in the usage.
        self._texts, self._said = [], self._usage()
        try:
            found, unknown = self.parse_known_intermixed_args(args, namespace)
            if unknown:
                self.error(f"unrecognized arguments: {' '.join(unknown)}")
            return found, unknown
        finally:
            self._texts, self._said = None, ""

    def _pass(self, args: list[str], namespace: Any) -> Any:
        """One of the two passes that Pythons before 3.12.8 make: over the options, and over the rest. The first would
        drop the -- and have the second take the texts behind it for options."""
        if self._texts:
            args = [*args, *self._texts]
        elif NO_MORE_OPTIONS in args:
            place = args.index(NO_MORE_OPTIONS)
            args, self._texts = args[:place], args[place:]
        return super().parse_known_args(args, namespace)

    def format_usage(self) -> str:
        return f"{self._usage()}\n"

    def format_help(self) -> str:
        said = self._said or self._usage()
        usage, self.usage = self.usage, said.removeprefix("usage: ").replace("%", "%%")
        try:
            return super().format_help()
        finally:
            self.usage = usage

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self._said or self._usage()}\n{self.prog}: {message}; --help says more\n")

    def _usage(self) -> str:
        """How it is used, with a word for the options of the tokenizer, which are many."""
        many = {
            id(a) for group in self._action_groups if group.title == TOKENIZER_OPTIONS for a in group._group_actions
        }
        formatter = self._get_formatter()
        shown = [action for action in self._actions if id(action) not in many]
        formatter.add_usage(None, shown, self._mutually_exclusive_groups)
        usage = formatter.format_help().rstrip()
        return f"{usage}\n{' ' * len(f'usage: {self.prog} ')}[options of the tokenizer]" if many else usage
