"""Store of finished runs: a journal of their summaries and, if wanted, their recordings."""

import hashlib
import json
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any

from nmdp_pin._files.input_file import from_json
from nmdp_pin._files.journal import Journal
from nmdp_pin._runs.planned_run import PlannedRun

Summary = dict[str, Any]
"""What is kept of a run; see `nmdp_pin._runs.run_many.summary`."""


class RunStore(AbstractContextManager["RunStore"]):
    """Finished runs by scenario and code, written by one process at a time.

    Runs with a missing or damaged recording are not found. Runs that were kept survive any
    interruption.

    Args:
        path: path of the journal.
        folder: folder of the recordings; None: no recordings are kept.

    Raises:
        RecordingError: the journal cannot be written, is something else, or another process is
            writing it.
    """

    def __init__(self, path: Path, *, folder: Path | None = None) -> None:
        self.folder = folder
        self._journal = Journal(path)
        self._summaries: dict[str, Summary] = {}
        for chunk in self._journal.chunks:
            with suppress(ValueError, TypeError):
                self._summaries |= {key: dict(kept) for key, kept in dict(from_json(chunk)).items()}

    def find(self, run: PlannedRun) -> Summary | None:
        """Summary of a run; None if it has to be made."""
        found = self._summaries.get(run.key)
        if found is None or self.folder is None:
            return found
        kept = recording_digest(self.folder / recording_name(run))
        return found if kept is not None and found.get("recording") == kept else None

    def keep(self, run: PlannedRun, summary: Summary) -> None:
        """Write the summary of a run to disk."""
        self._journal.append(json.dumps({run.key: summary}).encode())
        self._summaries[run.key] = summary

    def close(self) -> None:
        """Close the journal; an empty one is removed."""
        self._journal.close(remove=self._journal.empty)

    def __exit__(self, *error: object) -> None:
        self.close()


def recording_name(run: PlannedRun) -> str:
    """Name of the file in which a store keeps the recording of a run."""
    return f"{run.name}.npz"


def recording_digest(path: Path) -> str | None:
    """Digest of a recording's file; None where there is none."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None
