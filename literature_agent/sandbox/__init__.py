"""A local server that speaks the literature services over a corpus: real sockets, no network."""

from literature_agent.sandbox.corpus_index import Corpus
from literature_agent.sandbox.faults import Fault, Faults
from literature_agent.sandbox.server import Asked, SandboxServer

__all__ = ["Asked", "Corpus", "Fault", "Faults", "SandboxServer"]
