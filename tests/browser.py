"""A headless Chromium, spoken to over its debugging pipe; no package is needed for it."""

from __future__ import annotations

import base64
import contextlib
import functools
import http.server
import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PROGRAMS = "chromium", "chromium-browser", "google-chrome"
OPTIONS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--hide-scrollbars",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-pipe",
]


def find_browser() -> str | None:
    """The program, where there is one."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[str]:
    """The address of a web server for the files of a folder."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class Browser:
    """One page, and what it asked for and complained of."""

    def __init__(self, program: str, profile: Path) -> None:
        to_browser, from_us = os.pipe()
        from_browser, to_us = os.pipe()

        def connect() -> None:  # Chromium reads from 3 and writes to 4
            read, write = os.dup(to_browser), os.dup(to_us)
            os.dup2(read, 3)
            os.dup2(write, 4)

        self._process = subprocess.Popen(
            [program, *OPTIONS, f"--user-data-dir={profile}"],
            pass_fds=(3, 4),
            preexec_fn=connect,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser), os.close(to_us)
        self._write, self._read = os.fdopen(from_us, "wb", 0), os.fdopen(from_browser, "rb")
        self._count, self._session = 0, None
        self.requests: list[str] = []
        self.complaints: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def close(self) -> None:
        self._write.close()  # ends the browser
        self._process.wait(timeout=30)
        self._read.close()

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """A command's answer; what happens meanwhile is noted."""
        self._count += 1
        message = {"id": self._count, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        self._write.write(json.dumps(message).encode() + b"\0")
        while True:
            found = self._receive()
            if found.get("id") == self._count:
                if "error" in found:
                    raise RuntimeError(f"{method}: {found['error']['message']}")
                return found["result"]

    def show(self, url: str, width: int, height: int = 900) -> None:
        """Load a page in a window of this size, and wait for all of it."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        self.call("Page.navigate", url=url)
        while self._receive().get("method") != "Page.loadEventFired":
            pass

    def evaluate(self, script: str) -> Any:
        """The value of an expression, or what its promise comes to."""
        answer = self.call(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"]["description"])
        return answer["result"].get("value")

    def photograph(self, path: Path, whole: bool = False) -> None:
        answer = self.call("Page.captureScreenshot", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(answer["data"]))

    def _receive(self) -> dict[str, Any]:
        text = bytearray()
        while (byte := self._read.read(1)) != b"\0":
            if not byte:
                raise RuntimeError("the browser has ended")
            text += byte
        found = json.loads(text)
        self._note(found.get("method"), found.get("params", {}))
        return found

    def _note(self, event: str | None, about: dict[str, Any]) -> None:
        if event == "Network.requestWillBeSent":
            self.requests.append(about["request"]["url"])
        elif event == "Network.responseReceived" and about["response"]["status"] >= 400:
            self.complaints.append(f"{about['response']['status']} {about['response']['url']}")
        elif event == "Runtime.exceptionThrown":
            self.complaints.append(about["exceptionDetails"]["text"])
        elif event == "Runtime.consoleAPICalled" and about["type"] in ("error", "warning"):
            self.complaints.append(str([a.get("value") for a in about["args"]]))
        elif event == "Log.entryAdded" and about["entry"]["level"] == "error":
            self.complaints.append(about["entry"]["text"])
