"""Which model plays the reader: a name, a model object, or the extractive stand-in."""

from __future__ import annotations

import re

from pydantic_ai import models
from pydantic_ai.exceptions import AgentRunError, ModelAPIError, ModelRetry, UserError
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings

from literature_agent.errors import ConfigurationError, InvalidInputError, LiteratureError

EXTRACTIVE = "extractive"
_KEY = re.compile(r"\b[A-Z][A-Z0-9_]*_(?:API_)?KEY\b")
EXTRACTIVE_NOTE = (
    "No language model was used: the answer was put together by the `extractive` stand-in, which selects sentences "
    "from abstracts by rule. Give a model for a written synthesis."
)


def resolve_model(model: models.Model | str) -> models.Model:
    """The model behind a name such as `anthropic:claude-...`; `extractive` is the built-in stand-in.

    Raises:
        InvalidInputError: no provider knows the name.
        ConfigurationError: the provider's key or package is missing.
    """
    if not isinstance(model, str):
        return model
    name = model.strip()
    if name == EXTRACTIVE:
        from literature_agent.agents.extractive import extractive_model

        return extractive_model()
    try:
        return models.infer_model(name)
    except (UserError, ValueError) as refused:
        message = " ".join(str(refused).split())
        if "Unknown model" in message or "Unknown provider" in message or ":" not in name:
            raise InvalidInputError(
                f"No provider knows the model {name!r}.",
                recovery="Write it as provider:model, for example `openai:gpt-5.2`, or use `extractive`.",
            ) from None
        key = _KEY.search(message)
        if key is not None:
            raise _key_missing(name, key.group()) from None
        raise ConfigurationError(
            f"The model {name!r} can't be used: {message[:300]}", recovery="Mend what the message names."
        ) from None
    except ImportError:
        provider = name.split(":", 1)[0]
        raise ConfigurationError(
            f"The model {name!r} needs the package of its provider, which is not installed.",
            recovery=f"Install the extra: pip install 'literature-agent[{provider}]'.",
        ) from None
    except Exception as refused:  # noqa: BLE001  # each provider's package has errors of its own
        key = _KEY.search(str(refused))
        if key is not None:
            raise _key_missing(name, key.group()) from None
        # Its message is not repeated: it may hold the key or what else was read from the environment.
        raise ConfigurationError(
            f"The model {name!r} can't be used: its provider's package raised {type(refused).__name__}.",
            recovery="Check the provider's key and the other settings of its package.",
        ) from None


def _key_missing(name: str, key: str) -> ConfigurationError:
    return ConfigurationError(
        f"The model {name!r} needs the key {key}, which is not set.",
        recovery=f"Set {key}, or use the model `extractive`.",
    )


class ProviderModel(WrapperModel):
    """The model it wraps; whatever its provider's client raises is a `ModelAPIError` here.

    Clients raise errors of their own (httpx, sockets, a provider's package), and a run ends in an answer all the same.
    Only the name of the error's class is told: its text may repeat a key. What our own code raises around a request
    passes by here, so that a fault of ours is seen. The sub-agent asks for no stream, below a streaming parent neither.
    """

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: models.ModelRequestParameters,
    ) -> ModelResponse:
        try:
            return await super().request(messages, model_settings, model_request_parameters)
        except (AgentRunError, UserError, ModelRetry, LiteratureError):
            raise
        except Exception as failed:
            raise ModelAPIError(self.model_name, f"its provider failed ({type(failed).__name__}).") from failed


def provided(model: models.Model) -> models.Model:
    """The model, guarded against its provider's own errors; the stand-in asks no provider."""
    return model if model.model_name == EXTRACTIVE or isinstance(model, ProviderModel) else ProviderModel(model)


def model_name(model: models.Model) -> str:
    """`provider:model` as it stands in `output.model`."""
    if model.model_name == EXTRACTIVE:
        return EXTRACTIVE
    return f"{model.system}:{model.model_name}"
