"""Real Chromium, to which nothing but this machine answers."""

from __future__ import annotations

import shutil
import subprocess
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")


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
        "--virtual-time-budget=60000",
        only_here,
        "--dump-dom",
    ]
    address = f"http://127.0.0.1:{server.server_port}/{page}"
    try:
        done = subprocess.run([str(CHROMIUM), *options, address], capture_output=True, text=True, timeout=180)
    finally:
        server.shutdown()
    assert done.stdout, done.stderr
    return done.stdout, served
