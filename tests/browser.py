"""Real Chromium, to which nothing but this machine answers."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import threading
from contextlib import suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")

_ATTEMPTS = 3
#: Seconds for one attempt; a page takes some five.
_PATIENCE = 90


def dom(folder: Path, page: str) -> tuple[str, list[str]]:
    """The document that a page has become once its scripts have run, and the paths that were asked for.

    Args:
        folder: what is served.
        page: a file in it.
    """
    served: list[str] = []

    class Handler(SimpleHTTPRequestHandler):
        extensions_map = {**SimpleHTTPRequestHandler.extensions_map, ".mjs": "text/javascript"}  # noqa: RUF012

        def log_message(self, *words: object) -> None:
            served.append(self.path)

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    only_here = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
    options = [
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--virtual-time-budget=60000",
        only_here,
        "--dump-dom",
    ]
    address = f"http://127.0.0.1:{server.server_port}/{page}"
    try:
        for _ in range(_ATTEMPTS):
            served.clear()
            page_text = _run([str(CHROMIUM), *options, address])
            if page_text:
                return page_text, served
    finally:
        server.shutdown()
    raise AssertionError(f"Chromium gave no document in {_ATTEMPTS} attempts")


def _run(command: list[str]) -> str:
    """What a browser with a profile of its own prints; nothing where it has to be ended with all of its processes.

    Two that share a profile wait for each other, and one was seen that never ended.
    """
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [command[0], f"--user-data-dir={profile}", *command[1:]]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True
        )
        try:
            return process.communicate(timeout=_PATIENCE)[0]
        except subprocess.TimeoutExpired:
            return ""
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
