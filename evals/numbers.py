"""Numbers on the command lines of the evaluation: what is none is said in words."""

from __future__ import annotations

import argparse
import math


def positive(text: str) -> int:
    """How many: a trial of none would pass."""
    if not text.isascii() or not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number of 1 or more")
    return int(text)


def seconds(text: str) -> float:
    """A time above zero, seconds."""
    if (number := dollars(text)) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no time to work in")
    return number


def dollars(text: str) -> float:
    """A sum of zero or more, US dollars."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 <= number < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of 0 or more")
    return number
