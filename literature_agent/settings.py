"""Settings: built once at a door, frozen, handed down. Nothing else in the package reads the environment.

Order of precedence: arguments, environment (`LITERATURE_AGENT_<NAME>`), the secrets folder named by
`LITERATURE_AGENT_SECRETS_DIR` (one file a setting), defaults.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Annotated, Any, Literal

import platformdirs
from pydantic import AliasChoices, Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SecretsSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from literature_agent.errors import ConfigurationError, in_words, reason_of

DEFAULT_SOURCES = ("pubmed", "europepmc", "biorxiv", "medrxiv", "clinicaltrials")

Switch = Literal["on", "off"]

# A launcher that was given no value may pass its own placeholder through (K107).
_PLACEHOLDER = re.compile(r"^\s*\$\{[^}]*\}\s*$")

_URLS = ("ncbi_base_url", "pmc_base_url", "europepmc_base_url", "biorxiv_base_url", "clinicaltrials_base_url")


def _either(name: str) -> AliasChoices:
    """Names of a setting that is also read without the prefix: with it, it was meant for this program, and wins."""
    return AliasChoices(f"literature_agent_{name}", name)


class Settings(BaseSettings):
    """All settings of one caller. Keys are `SecretStr`; `repr` shows none of them."""

    model_config = SettingsConfigDict(
        env_prefix="LITERATURE_AGENT_",
        env_ignore_empty=True,
        populate_by_name=True,
        frozen=True,
        extra="forbid",
        hide_input_in_errors=True,
    )

    model: str | None = None
    """Model name as pydantic-ai writes it (`anthropic:claude-...`), or `extractive`."""
    sources: Annotated[tuple[str, ...], NoDecode] = DEFAULT_SOURCES
    """Sources asked when a request names none."""
    email: SecretStr | None = None
    """Contact address sent to NCBI, as its usage policy asks."""
    ncbi_api_key: SecretStr | None = Field(default=None, validation_alias=_either("ncbi_api_key"))

    ncbi_base_url: str = "https://eutils.ncbi.nlm.nih.gov/entrez/eutils/"
    pmc_base_url: str = "https://pmc.ncbi.nlm.nih.gov/"
    europepmc_base_url: str = "https://www.ebi.ac.uk/europepmc/webservices/rest/"
    biorxiv_base_url: str = "https://api.biorxiv.org/"
    clinicaltrials_base_url: str = "https://clinicaltrials.gov/api/v2/"
    europepmc_enabled: bool = Field(default=True, validation_alias=_either("europepmc_enabled"))

    cache_dir: Path = Field(default_factory=lambda: Path(platformdirs.user_cache_dir("literature-agent")))
    cache: Switch = "on"
    cache_max_age_s: Annotated[float, Field(gt=0)] = 7 * 24 * 3600
    cache_max_mb: Annotated[float, Field(gt=0)] = 500
    breaker: Switch = "on"
    rate_limit_store: str = Field(default="shared", repr=False)
    """`shared` (all processes of this machine), `memory` (this process), or a database URL, perhaps with a password."""
    database_url: SecretStr | None = None
    pace: Literal["auto", "on", "off"] = "auto"
    """`auto`: as the host allows, none if the server says it is the sandbox."""

    retry_attempts: Annotated[int, Field(ge=1, le=10)] = 3
    retry_max_wait_s: Annotated[float, Field(gt=0)] = 30.0
    """Longest wait before one more attempt, seconds; also caps `Retry-After`."""
    repair_rounds: Annotated[int, Field(ge=0, le=5)] = 2
    biorxiv_max_pages: Annotated[int, Field(ge=1)] = 60

    @model_validator(mode="before")
    @classmethod
    def _unset_placeholders(cls, values: Any) -> Any:
        if not isinstance(values, dict):
            return values
        set_ = {k: v for k, v in values.items() if not (isinstance(v, str) and _PLACEHOLDER.match(v))}
        return {k: v for k, v in set_.items() if f"literature_agent_{k}" not in set_}

    @field_validator("sources", mode="before")
    @classmethod
    def _split_sources(cls, value: Any) -> Any:
        return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value

    @field_validator("cache", "breaker", "pace", mode="before")
    @classmethod
    def _read_switch(cls, value: Any) -> Any:
        if isinstance(value, bool):
            return "on" if value else "off"
        if isinstance(value, str):
            low = value.strip().lower()
            return {"true": "on", "1": "on", "yes": "on", "false": "off", "0": "off", "no": "off"}.get(low, low)
        return value

    @field_validator("email", "ncbi_api_key", mode="after")
    @classmethod
    def _blank_is_unset(cls, value: SecretStr | None) -> SecretStr | None:
        return value if value is not None and value.get_secret_value().strip() else None

    @field_validator(*_URLS)
    @classmethod
    def _base_url(cls, value: str) -> str:
        if not re.match(r"https?://[^/\s@]+(/[^\s]*)?$", value.strip()):
            raise ValueError("must be an http(s) address without user name, for example https://host/path/")
        return value.strip().rstrip("/") + "/"

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        if isinstance(env_settings, EnvSettingsSource):
            # Of two names of a setting, one that holds a placeholder must not hide the other.
            env_settings.env_vars = {k: v for k, v in env_settings.env_vars.items() if not _PLACEHOLDER.match(v or "")}
        folder = from_environment("LITERATURE_AGENT_SECRETS_DIR")
        if not folder:
            return init_settings, env_settings
        if not Path(folder).is_dir():
            raise ConfigurationError(
                f"LITERATURE_AGENT_SECRETS_DIR names {folder!r}, which is not a folder.",
                recovery="Name a folder, or unset it.",
            )
        return init_settings, env_settings, SecretsSettingsSource(settings_cls, secrets_dir=folder)


def from_environment(name: str) -> str:
    """A variable that is read outside of `Settings`; empty where it is unset, blank or a placeholder (K107)."""
    value = os.environ.get(name, "").strip()
    return "" if _PLACEHOLDER.match(value) else value


def load_settings(**overrides: Any) -> Settings:
    """The settings of this process with `overrides` on top (None means: not given).

    Raises:
        ConfigurationError: a value is refused; the message names the setting, never its value.
    """
    try:
        return Settings(**{name: value for name, value in overrides.items() if value is not None})
    except ValidationError as refused:
        first = refused.errors(include_input=False, include_url=False)[0]
        name = str(first["loc"][0]).upper() if first["loc"] else "?"
        name = name.removeprefix("LITERATURE_AGENT_")
        raise ConfigurationError(f"Setting LITERATURE_AGENT_{name} is not usable: {in_words(first['msg'])}.") from None
    except SettingsError as broken:
        named = re.search(r'field "(\w+)"', str(broken))
        raise ConfigurationError(
            f"The file of the setting LITERATURE_AGENT_{named[1].upper() if named else '?'} can't be read:"
            f" {reason_of(broken.__cause__ or broken)}.",
            recovery="Write its value as text.",
        ) from None
