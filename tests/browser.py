"""Real Chromium, to which nothing but this machine answers."""

from __future__ import annotations

import os
import queue
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")

_ATTEMPTS = 3
#: Seconds for one attempt; a page takes some five.
_PATIENCE = 90
#: Sent after the page: it tells the server what the document has become.
_TELLS = """
<script>(function tell() {
  if (%s) fetch("/told", { method: "POST", body: document.documentElement.outerHTML });
  else setTimeout(tell, 100);
})();</script>
"""


def dom(folder: Path, page: str, *, once: str) -> tuple[str, list[str]]:
    """The document that a page has become, and the paths that were asked for.

    The browser is not asked to print it (`--dump-dom`), which needs `--virtual-time-budget` to wait for scripts: with
    that clock, a frame was seen whose loading never ended.

    Args:
        folder: what is served.
        page: a file in it.
        once: an expression of JavaScript that is true once the page has done its work.
    """
    told: queue.Queue[str] = queue.Queue()
    served: list[str] = []

    class Handler(SimpleHTTPRequestHandler):
        extensions_map = {**SimpleHTTPRequestHandler.extensions_map, ".mjs": "text/javascript"}  # noqa: RUF012

        def do_GET(self) -> None:
            if self.path != f"/{page}":
                return super().do_GET()
            text = (folder / page).read_bytes() + (_TELLS % once).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def do_POST(self) -> None:
            told.put(self.rfile.read(int(self.headers["Content-Length"])).decode())
            self.send_response(204)
            self.end_headers()

        def log_message(self, *words: object) -> None:
            served.append(self.path)

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        for _ in range(_ATTEMPTS):
            served.clear()
            with _opened(f"http://127.0.0.1:{server.server_port}/{page}"), suppress(queue.Empty):
                return told.get(timeout=_PATIENCE), served
    finally:
        server.shutdown()
    raise AssertionError(f"Chromium gave no document in {_ATTEMPTS} attempts; it asked for {served}")


@contextmanager
def _opened(address: str) -> Iterator[None]:
    """A browser with a profile of its own (two that share one wait for each other), ended with all of its processes."""
    options = [
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    ]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            [str(CHROMIUM), f"--user-data-dir={profile}", *options, address],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            yield
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
