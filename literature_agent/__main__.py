"""`python -m literature_agent`: the same as the command `literature-agent`."""

import sys

from literature_agent.cli import main

if __name__ == "__main__":
    sys.exit(main())
