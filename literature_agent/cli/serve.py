"""`sandbox`: serve the sandbox until it is interrupted."""

from __future__ import annotations

from typing import Annotated

import typer

from literature_agent.cli import options
from literature_agent.cli.corpus import open_corpus
from literature_agent.cli.screen import Screen, color_wanted


def sandbox(
    corpus: options.CorpusFolder = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1; 0 takes a free one.")] = 0,
    json: options.Json = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    no_color: options.NoColor = False,
) -> int:
    """Serve invented papers, or those of a folder, on this machine.

    They are served in the form of the real services.
    Prints the settings that point a client at it, and serves until Ctrl-C.
    """
    screen = Screen(json=json, quiet=quiet, verbose=verbose, color=color_wanted(no_color))
    from literature_agent.sandbox import SandboxServer

    with screen.logging(), open_corpus(corpus) as served:
        server = SandboxServer(served, port=port)
        try:
            settings = server.settings_overrides()
            if json:
                screen.document(
                    {
                        "base_url": server.base_url,
                        "settings": settings,
                        "records": served.size,
                        "synthetic": served.is_synthetic,
                    }
                )
            else:
                lines = [f"export LITERATURE_AGENT_{name.upper()}={value}" for name, value in settings.items()]
                screen.result("\n".join(lines))
            screen.note(f"Serving {served.size} records at {server.base_url}; stop with Ctrl-C.")
            server.serve_forever()
        except KeyboardInterrupt:
            screen.note("Stopped.")
        finally:
            server.close()
    return 0
