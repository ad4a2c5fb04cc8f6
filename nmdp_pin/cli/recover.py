"""`nmdp-pin recover`: recordings of killed runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nmdp_pin.cli.outputs import RECORDINGS, Force, check_outputs
from nmdp_pin.cli.summary import summary
from nmdp_pin.files.journal import Journal, journal_path
from nmdp_pin.runs.recording import Recording


def recover(
    journal: Annotated[Path, typer.Argument(help="Journal of the run (.npz.unfinished).")],
    out: Annotated[
        Path | None, typer.Option(help="Recording to write (.npz); default: --out of the run.")
    ] = None,
    force: Force = False,
) -> None:
    """Turn the journal of a killed run into a recording, and remove the journal."""
    out = out or journal.with_name(journal.name.removesuffix(journal_path("").name))
    check_outputs((out, RECORDINGS), force=force)
    recording = Recording.load(journal)
    with Journal(journal) as locked:  # refused while the run goes on
        recording.save(out, replace=force)
        locked.close(remove=True)
    print(f"{summary(recording)}\nwrote {out}")
