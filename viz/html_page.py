"""The page of a run: one file, with three.js and all scripts inside."""

from __future__ import annotations

import base64
import hashlib
import html
import importlib.util
import re
from functools import cache
from importlib import resources
from pathlib import Path

from nmdp_pin.errors import ViewerError

_SCRIPTS = ("scene.js", "timeline.js", "camera.js", "page.js")


def html_page(title: str, *, scene: bytes, frames: bytes) -> str:
    """The page of a run.

    Args:
        title: title of the page.
        scene: what `packed_scene` packed.
        frames: compressed frames, single precision.
    """
    three, script = _three(), _script()
    data = "".join(
        f'<script type="text/plain" id="{name}-data">{base64.b64encode(value).decode()}</script>\n'
        for name, value in (("scene", scene), ("frames", frames))
    )
    # Only these two scripts run, whatever a robot is called, and nothing is fetched from elsewhere.
    hashes = " ".join(f"'sha256-{_digest(text)}'" for text in (three, script))
    policy = (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; "
        "img-src data: blob:; connect-src data:"
    )
    parts = {"POLICY": policy, "TITLE": html.escape(title), "DATA": data}
    parts |= {"THREE": three, "SCRIPT": script}
    # at once, so that no title is taken for a place of the page
    return re.sub("@([A-Z]+)@", lambda place: parts[place[1]], _file("page.html"))


@cache
def _three() -> str:
    """three.js, of which meshcat brings a build; meshcat itself is not loaded."""
    spec = importlib.util.find_spec("meshcat")
    if spec is None or not spec.origin:
        raise ViewerError("meshcat is not installed; the page needs the three.js that it brings")
    return Path(spec.origin).with_name("viewer").joinpath("dist", "main.min.js").read_text("utf-8")


@cache
def _script() -> str:
    return "\n".join(_file(name) for name in _SCRIPTS)


def _file(name: str) -> str:
    return resources.files("nmdp_pin.viz").joinpath("page", name).read_text("utf-8")


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
