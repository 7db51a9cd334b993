"""Settings: where they come from, what is refused, what is never shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import SecretStr, ValidationError

from literature_agent.errors import ConfigurationError
from literature_agent.settings import Settings, load_settings


@pytest.mark.parametrize("value", ["false", "0", "no", "FALSE"])
def test_a_flag_is_read_by_its_meaning(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    """K121."""
    monkeypatch.setenv("LITERATURE_AGENT_EUROPEPMC_ENABLED", value)
    assert Settings().europepmc_enabled is False


def test_a_blank_flag_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    """K121."""
    monkeypatch.setenv("LITERATURE_AGENT_EUROPEPMC_ENABLED", "")
    assert Settings().europepmc_enabled is True


@pytest.mark.parametrize("name", ["NCBI_API_KEY", "LITERATURE_AGENT_NCBI_API_KEY"])
def test_the_key_is_read_with_and_without_prefix_and_never_shown(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "sesame")
    settings = Settings()
    assert settings.ncbi_api_key is not None
    assert settings.ncbi_api_key.get_secret_value() == "sesame"
    assert "sesame" not in repr(settings) + str(settings.model_dump()) + settings.model_dump_json()


def test_a_placeholder_of_a_launcher_is_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    """K107."""
    monkeypatch.setenv("NCBI_API_KEY", "${user_config.ncbi_api_key}")
    monkeypatch.setenv("LITERATURE_AGENT_SECRETS_DIR", "${user_config.folder}")
    assert Settings().ncbi_api_key is None


@pytest.mark.parametrize("name", ["NCBI_API_KEY", "LITERATURE_AGENT_NCBI_API_KEY"])
def test_a_placeholder_hides_no_key_of_another_name_or_of_a_file(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """K107."""
    monkeypatch.setenv(name, "${user_config.ncbi_api_key}")
    (tmp_path / "NCBI_API_KEY").write_text("of-a-file", encoding="utf-8")
    monkeypatch.setenv("LITERATURE_AGENT_SECRETS_DIR", str(tmp_path))
    assert key_of(Settings()) == "of-a-file"
    (other,) = {"NCBI_API_KEY", "LITERATURE_AGENT_NCBI_API_KEY"} - {name}
    monkeypatch.setenv(other, "of-the-environment")
    assert key_of(Settings()) == "of-the-environment"


def test_arguments_win_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LITERATURE_AGENT_SOURCES", "pubmed")
    assert Settings().sources == ("pubmed",)
    assert Settings(sources=("europepmc",)).sources == ("europepmc",)


def test_a_value_with_the_prefix_wins_over_one_without(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NCBI_API_KEY", "of-all-programs")
    monkeypatch.setenv("LITERATURE_AGENT_NCBI_API_KEY", "of-this-one")
    (tmp_path / "NCBI_API_KEY").write_text("of-a-file", encoding="utf-8")
    for folder in ("", str(tmp_path)):
        monkeypatch.setenv("LITERATURE_AGENT_SECRETS_DIR", folder)
        assert key_of(Settings()) == "of-this-one"
        assert key_of(Settings(ncbi_api_key=SecretStr("given"))) == "given"


def key_of(settings: Settings) -> str:
    assert settings.ncbi_api_key is not None
    return settings.ncbi_api_key.get_secret_value()


def test_the_secrets_folder_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "literature_agent_ncbi_api_key").write_text("from-file\n", encoding="utf-8")
    monkeypatch.setenv("LITERATURE_AGENT_SECRETS_DIR", str(tmp_path))
    settings = Settings()
    assert settings.ncbi_api_key is not None
    assert settings.ncbi_api_key.get_secret_value() == "from-file"


def test_a_secret_that_is_no_text_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "literature_agent_model").write_bytes(b"\xff\xfe")
    monkeypatch.setenv("LITERATURE_AGENT_SECRETS_DIR", str(tmp_path))
    with pytest.raises(ConfigurationError, match="LITERATURE_AGENT_MODEL can't be read: it is not UTF-8 text"):
        load_settings()


def test_a_missing_secrets_folder_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LITERATURE_AGENT_SECRETS_DIR", "/nowhere/at/all")
    with pytest.raises(ConfigurationError, match="not a folder"):
        Settings()


@pytest.mark.parametrize(
    ("name", "value"),
    [("PACE", "sometimes"), ("NCBI_BASE_URL", "ftp://x"), ("RETRY_ATTEMPTS", "0"), ("CACHE_MAX_AGE_S", "-1")],
)
def test_a_refused_value_names_the_setting_and_not_the_value(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(f"LITERATURE_AGENT_{name}", value)
    with pytest.raises(ConfigurationError, match=f"LITERATURE_AGENT_{name}") as refused:
        load_settings()
    assert "\n" not in refused.value.message


def test_settings_are_frozen() -> None:
    with pytest.raises(ValidationError):
        Settings().pace = "off"  # type: ignore[misc]  # the assignment is what is tested


def test_switches_take_the_usual_words() -> None:
    assert Settings(cache="off").cache == "off"
    assert Settings.model_validate({"cache": False}).cache == "off"
    assert Settings.model_validate({"breaker": "1"}).breaker == "on"


def test_base_urls_end_with_one_slash() -> None:
    assert Settings(ncbi_base_url="http://127.0.0.1:1/x").ncbi_base_url == "http://127.0.0.1:1/x/"
