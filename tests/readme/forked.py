"""`python forked.py FOLDER`: each script of the folder in a process of its own, with its output in a file beside it.

The processes are children of one that has loaded what the scripts import, so that they start at once.
"""

from __future__ import annotations

import gc
import os
import runpy
import sys
import traceback
from pathlib import Path

import pydantic_ai  # noqa: F401  # loaded for the children

import literature_agent

for name in literature_agent.__all__:
    getattr(literature_agent, name)


def main(folder: Path) -> int:
    """Run the scripts, one after the other; in a child: the exit code of its script."""
    # What is loaded is no garbage: a child that looked for some at its end would copy all of it.
    gc.freeze()
    for script in sorted(folder.glob("*.py")):
        child = os.fork()
        if child == 0:
            return _alone(script)
        _, status = os.waitpid(child, 0)
        script.with_suffix(".code").write_text(str(os.waitstatus_to_exitcode(status)), encoding="utf-8")
    return 0


def _alone(script: Path) -> int:
    for number, kind in ((1, ".out"), (2, ".err")):
        os.dup2(os.open(script.with_suffix(kind), os.O_WRONLY | os.O_CREAT, 0o600), number)
    place = script.with_suffix("")
    place.mkdir()
    os.chdir(place)
    sys.argv = [str(script)]
    try:
        runpy.run_path(str(script), run_name="__main__")
    except Exception:  # noqa: BLE001  # what an interpreter does with it
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
