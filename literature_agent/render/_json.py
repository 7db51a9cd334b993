"""An answer as one JSON document that holds all its records."""

from __future__ import annotations

import json
from typing import Any

from literature_agent.outputs import LiteratureAggregationOutput


def answer_document(output: LiteratureAggregationOutput) -> dict[str, Any]:
    """The members of the output in snake_case, and `registry`: what `ArtifactRegistry.from_json` takes, or None.

    Without its `registry` member the document reads back as `LiteratureAggregationOutput`.
    """
    registry = output.registry
    held = None if registry is None else json.loads(registry.to_json())
    return {**output.model_dump(mode="json"), "registry": held}
