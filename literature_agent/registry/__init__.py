"""References, works, copies, families, and where they are kept."""

from literature_agent.registry.artifact_registry import ArtifactRegistry, Linked, Resolved
from literature_agent.registry.references import (
    TOKEN_MASK,
    FoundReference,
    Reference,
    cut_out,
    find_references,
    mask_references,
    near,
    read_reference,
    remove_references,
    replace_references,
)
from literature_agent.registry.stores import MemoryStore, SQLiteStore, Store
from literature_agent.registry.texts import StoredText, stored_texts, table_text, text_hash

__all__ = [
    "ArtifactRegistry",
    "FoundReference",
    "Linked",
    "MemoryStore",
    "Reference",
    "Resolved",
    "SQLiteStore",
    "Store",
    "StoredText",
    "find_references",
    "mask_references",
    "TOKEN_MASK",
    "near",
    "read_reference",
    "cut_out",
    "remove_references",
    "replace_references",
    "stored_texts",
    "table_text",
    "text_hash",
]
