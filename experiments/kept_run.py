"""A run in its file: is it the one that is asked for, and how did it end."""

from __future__ import annotations

import json
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nmdp_pin.experiments.run_spec import RunSpec
from nmdp_pin.recording import Recording


@dataclass(frozen=True)
class KeptRun:
    """A run and the recording that keeps it.

    Args:
        spec: which run.
        path: its recording (.npz).
        end: time of the last step that converged [s].
        failure: why it ended before its duration; "" where it did not.
    """

    spec: RunSpec
    path: Path
    end: float
    failure: str

    def recording(self) -> Recording:
        """The run itself, read anew each time: a whole evaluation would not fit in memory."""
        return Recording.load(self.path)


def find_run(spec: RunSpec, path: Path, made_with: dict[str, Any]) -> KeptRun | None:
    """The run in a file; None where there is none, or one of other settings or code.

    Args:
        spec: which run.
        path: where it is kept.
        made_with: what its meta data must hold, such as the resolved scenario.
    """
    if not zipfile.is_zipfile(path):  # absent or half: np.load would leave its file open
        return None
    try:
        # Only these members are read, of what may be megabytes.
        with np.load(path, allow_pickle=False) as archive:
            meta = json.loads(str(archive["meta"][()]))
            t, status = archive["t"], archive["status"]
            failure = str(meta["statuses"][status[-1]]) if status[-1] else ""
    except (OSError, ValueError, KeyError, IndexError, EOFError, zipfile.BadZipFile, zlib.error):
        return None
    if any(meta.get(key) != value for key, value in made_with.items()):
        return None
    return KeptRun(spec, path, float(t[status == 0].max(initial=0.0)), failure)
