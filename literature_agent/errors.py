"""Every error this package raises on purpose.

    LiteratureError                 anything below; carries `reason`, `message`, `retryable`, `recovery`
    ├── ConfigurationError          a setting is missing or wrong: mend the setting
    └── SourceError                 a source was asked and gave no usable answer: wait, or ask another source
        └── InvalidInputError       the question, query or identifier was refused: mend the input

Anything outside this tree is a bug and looks like one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence, Set
from difflib import get_close_matches
from typing import Any, Literal, Protocol

ErrorKind = Literal[
    "unreachable",
    "timeout",
    "invalid_response",
    "invalid_input",
    "configuration",
    "blocked",
    "rate_limited",
    "disabled",
    "not_found",
]

_RETRYABLE: dict[str, bool] = {
    "unreachable": True,
    "timeout": True,
    "invalid_response": True,
    "rate_limited": True,
    "invalid_input": False,
    "configuration": False,
    "blocked": False,
    "disabled": False,
    "not_found": False,
}

_RECOVERY: dict[str, str] = {
    "unreachable": "Try again later, or ask another source.",
    "timeout": "Try again later, or raise the deadline.",
    "invalid_response": "Try again later; if it stays, the service has changed its answers: report it.",
    "rate_limited": "Wait a minute; a free NCBI key raises PubMed's limit (see `literature-agent doctor`).",
    "invalid_input": "Correct the value named in the message.",
    "configuration": "Correct the setting named in the message.",
    "blocked": "The service refuses this client: check the contact e-mail and the network, or ask another source.",
    "disabled": "Switch the source on in the settings, or ask another source.",
    "not_found": "Check the identifier, or search for the title.",
}
_SEE_MESSAGE = (_RECOVERY["invalid_input"], _RECOVERY["configuration"])
"""Next steps of errors whose message says what to do."""


class LiteratureError(Exception):
    """Base of all errors: `message` says what was wrong, `recovery` the one next step.

    `reason` is machine-readable (`pubmed_rate_limited`, `request_invalid_input`, ...).
    """

    def __init__(self, message: str, *, reason: str, retryable: bool = False, recovery: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.reason = reason
        self.retryable = retryable
        self.recovery = recovery
        if recovery and recovery not in _SEE_MESSAGE:
            self.add_note(recovery)  # so that a traceback says it too

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> tuple[object, ...]:
        # Exceptions with keyword-only arguments do not pickle by default; worker processes need them to.
        return _rebuild, (type(self), self.message, self.reason, self.retryable, self.recovery)


class ConfigurationError(LiteratureError):
    """A setting is missing or wrong; nothing was sent."""

    def __init__(
        self,
        message: str,
        *,
        reason: str = "request_configuration",
        retryable: bool = False,
        recovery: str = _RECOVERY["configuration"],
    ) -> None:
        super().__init__(message, reason=reason, retryable=retryable, recovery=recovery)


class SourceError(LiteratureError):
    """A source was asked and gave no usable answer."""

    def __init__(self, message: str, *, reason: str, retryable: bool = True, recovery: str = "") -> None:
        super().__init__(message, reason=reason, retryable=retryable, recovery=recovery)


class InvalidInputError(SourceError):
    """The caller's value was refused, by us before sending or by the source."""

    def __init__(
        self,
        message: str,
        *,
        reason: str = "request_invalid_input",
        retryable: bool = False,
        recovery: str = _RECOVERY["invalid_input"],
    ) -> None:
        super().__init__(message, reason=reason, retryable=retryable, recovery=recovery)


def source_error(source: str, kind: ErrorKind, message: str, *, recovery: str | None = None) -> SourceError:
    """The error of `source` for `kind`: reason `<source>_<kind>`, with the usual retryable flag and next step.

    `invalid_input` gives an `InvalidInputError`.
    """
    if kind == "invalid_input":
        return refused(source, message, recovery)
    hint = _RECOVERY[kind] if recovery is None else recovery
    return SourceError(message, reason=f"{source}_{kind}", retryable=_RETRYABLE[kind], recovery=hint)


def refused(source: str, message: str, recovery: str | None = None) -> InvalidInputError:
    """The error of a value that is refused for `source`, or by it: reason `<source>_invalid_input`."""
    hint = _RECOVERY["invalid_input"] if recovery is None else recovery
    return InvalidInputError(message, reason=f"{source}_invalid_input", recovery=hint)


class Said(Protocol):
    """An error, or one kept as data."""

    @property
    def message(self) -> str: ...
    @property
    def recovery(self) -> str: ...


def told(error: Said) -> str:
    """What was wrong and the next step, in sentences for a reader; a next step that only points at the message is
    left out."""
    message = error.message.strip()
    if message and message[-1] not in ".!?":
        message += "."
    return message if error.recovery in _SEE_MESSAGE else f"{message} {error.recovery}".strip()


def reason_of(error: BaseException) -> str:
    """Why a file, an address or a text can't be used, in words for the end of a sentence: no number, no path."""
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8 text"
    said = error.strerror if isinstance(error, OSError) else None
    # Libraries put a number, a kind or a place around the words: `[Errno 2]`, `[SSL: ...]`, `(_ssl.c:1006)`.
    words = re.sub(r"^\[(?:Errno|SSL|X509)[^]]*\]|\(_ssl\.c:\d+\)$", "", (said or str(error)).strip())
    return " ".join(words.split()) or type(error).__name__


# How pydantic says what a value should be, and how a person does.
_WORDS = (
    (r"\bValue error, |\.$", ""),
    (r"Input should be a valid integer\b.*", "write a whole number"),
    (r"Input should be a (?:valid|finite) number\b.*", "write a number"),
    (r"Input should be a valid boolean\b.*", "write true or false"),
    (r"Input should be greater than or equal to (\S+)", r"write \1 or more"),
    (r"Input should be less than or equal to (\S+)", r"write \1 or less"),
    (r"Input should be greater than (\S+)", r"write more than \1"),
    (r"Input should be less than (\S+)", r"write less than \1"),
    (r"Input should be a valid string\b.*", "write a text"),
    (r"Input should be a valid (?:list|tuple)\b.*", "write a list"),
    (r"Input should be a valid dictionary\b.*", "write an object with named members"),
    (r"(?:String|Value|List|Tuple) should have at least 1 .*", "it is empty"),
    (r"String should have at most (\d+) .*", r"write at most \1 characters"),
    (r"(?:Value|List|Tuple) should have at most (\d+) .*", r"give at most \1"),
    (r"Input should be (?='|a valid)", "it should be "),
    (r"Extra inputs are not permitted", "nothing of that name is known"),
    (r"Field required", "it is missing"),
)


def in_words(message: str) -> str:
    """What pydantic says of a value, for the end of a sentence: what to write, without full stop."""
    for pattern, said in _WORDS:
        message = re.sub(pattern, said, message.strip())
    return message


def meant(word: str, choices: Iterable[str]) -> str:
    """` Did you mean 'pubmed'?`, for the end of a message; empty where no choice fits.

    One fits if it or one of its parts begins with the word (`--languages` for `--lang`), if it has the same first part
    (`--max-articles` for `--max-results`), or if only a slip parts them.
    """
    names = {choice.casefold().lstrip("-"): choice for choice in choices}
    wanted = word.casefold().strip().lstrip("-")
    near = [wanted] if wanted in names else []
    if len(wanted) > 1:
        near = near or [name for name in names if re.search(rf"(?:^|[-_ ]){re.escape(wanted)}", name)]
        first, dash, _ = wanted.partition("-")
        near = near or [name for name in names if dash and name.startswith(first + dash)]
        as_long = [name for name in names if abs(len(name) - len(wanted)) <= 1]
        near = near or get_close_matches(wanted, as_long, n=1, cutoff=0.75)
    return f" Did you mean {' or '.join(repr(names[name]) for name in sorted(near)[:3])}?" if near else ""


def _rebuild(kind: type[LiteratureError], message: str, reason: str, retryable: bool, recovery: str) -> LiteratureError:
    return kind(message, reason=reason, retryable=retryable, recovery=recovery)


def expect(name: str, value: object, kinds: type | tuple[type, ...], wanted: str) -> None:
    """Refuse a value of another kind than `kinds`, None included unless it is among them; True and False are no
    numbers.

    Raises:
        InvalidInputError: in one sentence, the argument, the value and what is `wanted`.
    """
    if not isinstance(value, kinds) or (isinstance(value, bool) and kinds is int):
        raise InvalidInputError(f"{name}={_shown(value)} is no {wanted}.", recovery=f"Give {name} as {wanted}.")


def expect_texts(name: str, value: object, wanted: str = "list of texts") -> None:
    """Refuse what is neither a text nor a list or set of texts.

    Raises:
        InvalidInputError: as `expect`.
    """
    if isinstance(value, str):
        return
    listed = value if isinstance(value, (Sequence, Set)) else None
    if listed is None or not all(isinstance(each, str) for each in listed):
        raise InvalidInputError(f"{name}={_shown(value)} is no {wanted}.", recovery=f"Give {name} as {wanted}.")


def split_names(value: Any) -> Any:
    """`pubmed, europepmc` as a list of names; what is no text as it came."""
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


def _shown(value: object) -> str:
    # Only plain values are shown: what another object prints may hold a key.
    return repr(value)[:80] if isinstance(value, (str, int, float, bytes, type(None))) else f"<{type(value).__name__}>"


def counted(number: int, one: str, many: str | None = None) -> str:
    """`1 work`, `3,000 works`, for a sentence."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
