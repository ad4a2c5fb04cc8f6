"""Ledger of a campaign: what came of each attempt, kept so that a later call goes on."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from nmdp_pin._files.journal import Journal
from tools.campaigns.child import FINE


class Ledger:
    """Outcomes of attempts, of which each has a number, in a journal.

    Args:
        path: of the journal.

    Attributes:
        outcomes: (campaign, number, kind, outcome) of every attempt.
    """

    def __init__(self, path: Path) -> None:
        self._journal = Journal(path)
        self.outcomes: list[tuple[str, int, str, str]] = [
            tuple(json.loads(chunk)) for chunk in self._journal.chunks
        ]

    def next_number(self, campaign: str) -> int:
        """The first number of a campaign that was not tried."""
        return 1 + max((n for name, n, _, _ in self.outcomes if name == campaign), default=-1)

    def add(self, campaign: str, number: int, kind: str, outcome: str) -> None:
        """Keep what came of an attempt."""
        entry = (campaign, number, kind, outcome)
        self._journal.append(json.dumps(entry).encode())
        self.outcomes.append(entry)

    def close(self) -> None:
        """Close the journal."""
        self._journal.close()

    def table(self, *, kinds: bool = True) -> str:
        """What was tried and what came of it, as markdown; a row a kind, or a row a campaign."""
        titles = ["campaign", *(["kind"] if kinds else []), "tried", *FINE, "not allowed"]
        found: dict[tuple[str, ...], Counter[str]] = {}
        for campaign, _, kind, outcome in self.outcomes:
            found.setdefault((campaign, kind) if kinds else (campaign,), Counter())[outcome] += 1
        lines = [f"| {' | '.join(titles)} |", "|" + len(titles) * "---|"]
        for key, counts in sorted(found.items()):
            fine = [counts[outcome] for outcome in FINE]
            cells = [*key, *map(str, [counts.total(), *fine, counts.total() - sum(fine)])]
            lines.append(f"| {' | '.join(cells)} |")
        return "\n".join(lines)

    def findings(self) -> list[str]:
        """One line for each outcome that is not allowed: how often, and the first attempt."""
        found = [entry for entry in self.outcomes if entry[3] not in FINE]
        counts = Counter((campaign, kind, outcome) for campaign, _, kind, outcome in found)
        first = {(c, k, o): n for c, n, k, o in reversed(found)}
        return [
            f"{count} x {key[0]}/{key[1]}, first number {first[key]}: {key[2]}"
            for key, count in counts.most_common()
        ]
