"""A real headless Chromium, driven through its DevTools protocol."""

from __future__ import annotations

import asyncio
import base64
import io
import itertools
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from PIL import Image
from tornado.websocket import WebSocketClientConnection, websocket_connect

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
REASON = "no chromium; install it with: apt-get install -y chromium"
REQUIRED = os.environ.get("CI", "").lower() == "true"

_FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--use-angle=swiftshader",  # WebGL without a graphics card
    "--enable-unsafe-swiftshader",
    "--hide-scrollbars",
    "--mute-audio",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--remote-debugging-port=0",
)
_START_TIME = 60.0  # a cold start on a slow, busy machine [s]
_ANSWER_TIME = 120.0  # rendering without a graphics card is slow [s]


class Browser:
    """One page of a headless Chromium; a context manager.

    Args:
        width: of the page [pixels].
        height: of the page [pixels].
    """

    def __init__(self, *, width: int = 800, height: int = 500) -> None:
        self._size = (width, height)
        self._loop = asyncio.new_event_loop()
        self._ids = itertools.count(1)
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self._process: subprocess.Popen[bytes] | None = None
        self._page: WebSocketClientConnection | None = None
        self.requests: list[str] = []
        """Addresses that the page asked for."""
        self.errors: list[str] = []
        """Uncaught errors of the page's scripts, and those that they log."""

    def __enter__(self) -> Self:
        size = ",".join(map(str, self._size))
        self._process = subprocess.Popen(
            [
                str(CHROMIUM),
                *_FLAGS,
                f"--window-size={size}",
                f"--user-data-dir={self._folder.name}",
                "about:blank",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            port = self._debugging_port()
            self._page = self._loop.run_until_complete(self._connect(port))
            self.call("Page.enable")
            self.call("Network.enable")
            self.call("Runtime.enable")
            self.call(
                "Emulation.setDeviceMetricsOverride",
                width=self._size[0],
                height=self._size[1],
                deviceScaleFactor=1,
                mobile=False,
            )
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._page is not None:
            self._loop.run_until_complete(self._disconnect(self._page))
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._loop.close()
        self._folder.cleanup()

    async def _disconnect(self, page: WebSocketClientConnection) -> None:
        """Close the connection; tornado needs a loop that runs for it."""
        page.close()
        await asyncio.sleep(0.05)

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Call a method of the DevTools protocol and wait for its answer."""
        return self._loop.run_until_complete(
            asyncio.wait_for(self._call(method, params), _ANSWER_TIME)
        )

    def open(self, url: str) -> None:
        """Open an address and wait until its scripts have run."""
        self.call("Page.navigate", url=url)
        self.wait_for("document.readyState === 'complete' && location.href !== 'about:blank'")

    def evaluate(self, expression: str) -> Any:
        """Value of a JavaScript expression in the page, as JSON data."""
        answer = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            raise RuntimeError(json.dumps(answer["exceptionDetails"])[:500])
        return answer["result"].get("value")

    def wait_for(self, condition: str, timeout: float = 60.0) -> None:
        """Wait until a JavaScript condition holds."""
        end = time.monotonic() + timeout
        while not self.evaluate(condition):
            if time.monotonic() > end:
                raise TimeoutError(f"after {timeout} s still not: {condition}; {self.errors}")
            time.sleep(0.05)

    def screenshot(self, path: Path | None = None) -> np.ndarray:
        """What the page shows, shape (height, width, 3), 0 to 255; also written to `path`."""
        png = base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])
        if path is not None:
            path.write_bytes(png)
        with Image.open(io.BytesIO(png)) as image:
            return np.asarray(image.convert("RGB")).astype(int)

    def _debugging_port(self) -> int:
        file = Path(self._folder.name) / "DevToolsActivePort"
        end = time.monotonic() + _START_TIME
        while not (file.exists() and file.read_text().count("\n")):
            if self._process is None or self._process.poll() is not None:
                raise RuntimeError("chromium ended while it started")
            if time.monotonic() > end:
                raise TimeoutError("chromium did not start")
            time.sleep(0.05)
        return int(file.read_text().split()[0])

    async def _connect(self, port: int) -> WebSocketClientConnection:
        from tornado.httpclient import AsyncHTTPClient

        client = AsyncHTTPClient(force_instance=True)
        try:
            answer = await client.fetch(f"http://127.0.0.1:{port}/json/list")
        finally:
            client.close()
        page = next(p for p in json.loads(answer.body) if p["type"] == "page")
        return await websocket_connect(page["webSocketDebuggerUrl"], max_message_size=2**28)

    async def _call(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        assert self._page is not None
        number = next(self._ids)
        await self._page.write_message(
            json.dumps({"id": number, "method": method, "params": params})
        )
        while True:
            text = await self._page.read_message()
            if text is None:
                raise RuntimeError("chromium closed the connection")
            message = json.loads(text)
            if message.get("id") == number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return dict(message["result"])
            if message.get("method") == "Network.requestWillBeSent":
                self.requests.append(message["params"]["request"]["url"])
            said = message.get("method") == "Runtime.consoleAPICalled" and message["params"]
            if said and said["type"] in ("error", "assert"):
                self.errors.append(json.dumps(said["args"])[:500])
            if message.get("method") == "Runtime.exceptionThrown":
                self.errors.append(json.dumps(message["params"]["exceptionDetails"])[:500])
