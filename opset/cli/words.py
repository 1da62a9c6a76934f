"""Types of options and arguments: one of a few words, and numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import click


class Words(click.Choice[str]):
    """A few words, one of which an option or argument takes; the error for another names those that are like it."""

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        """Return the message for a word that is none of these."""
        return with_guess(super().get_invalid_choice_message(value, ctx).rstrip("."), str(value), self.choices)


class Number(click.FloatRange):
    """A number within bounds; "nan" is none, which compares with no bound."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number of a text. Raises BadParameter if it is none, or outside of the bounds."""
        number = float(super().convert(value, param, ctx))
        if math.isnan(number):
            self.fail(f"{str(value)!r} is not a number", param, ctx)
        return number


def with_guess(message: str, word: str, words: Sequence[str]) -> str:
    """Return the message that `word` is none of a few words, with those that it is like, whatever its case."""
    from opset.schemas.names import near_miss  # of errors alone

    guess = near_miss(word, words) or near_miss(word.lower(), words)
    return f"{message}; {guess}" if guess else message
