"""The language server: findings as they arise, fixes, and the effective settings on hovering.

pygls speaks the protocol. What the editor has of its open documents goes before what is on the disk, also where they
are parents of others. A change is linted after a pause of 20 milliseconds, with the documents that inherit from the one
that changed (:mod:`.open_documents`).
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

from lsprotocol import types
from pygls import uris
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol
from pygls.workspace import PositionCodec, TextDocument

from .. import __version__  # pyrefly: ignore[missing-module-attribute]  # the package is mapped from folders
from ..schemas import store
from ..sources.files import kind_of
from ..sources.model import Fix, Span
from ..sources.text import split_lines
from ..sources.visible import visible
from .describe import as_data, as_text
from .diagnostics import Diagnostic
from .fix import fixed, resolved
from .open_documents import OpenDocuments
from .options import Configurations, UsageError
from .output.visible import shown

_NAME = "recompute-lint"
_SEVERITIES = {"error": types.DiagnosticSeverity.Error, "warning": types.DiagnosticSeverity.Warning}
#: How long nothing must have changed before a change is linted, and after how long it is anyway, in seconds.
_PAUSE = 0.02
_LATEST = 0.5
#: What has a part in what is found.
_WATCHED = (
    "**/*.{yaml,yml,py,pyi,toml,lock,json}",
    "**/{.gitmodules,requirements*.txt,constraints*.txt,setup.cfg}",
)
_FIX_ALL = f"{types.CodeActionKind.SourceFixAll.value}.{_NAME}"


class _Protocol(LanguageServerProtocol):
    """Answers requests that make no sense, too, which pygls only complains of."""

    def structure_message(self, data: dict[str, Any]) -> Any:
        try:
            return super().structure_message(data)
        except JsonRpcException as error:
            if "method" in data and isinstance(data.get("id"), (int, str)):
                self._send_response(data["id"], error=error.to_response_error())
            raise


def make(configurations: Callable[[], Configurations]) -> LanguageServer:
    """The server; ``start_io()`` runs it.

    Args:
        configurations: makes the options of files, anew whenever files outside the editor may have changed.
    """
    server = LanguageServer(_NAME, __version__, protocol_cls=_Protocol)
    session = _Session(server, configurations)

    @server.feature(types.INITIALIZED)
    def initialized(_: Any) -> None:
        session.watch()

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def changed(_: Any) -> None:
        session.soon()

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def saved(_: Any) -> None:
        session.renew()

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: types.DidCloseTextDocumentParams) -> None:
        nothing = types.PublishDiagnosticsParams(params.text_document.uri, [])
        server.text_document_publish_diagnostics(nothing)
        session.soon()

    kinds = [types.CodeActionKind.QuickFix, _FIX_ALL]

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(code_action_kinds=kinds))
    def code_actions(params: types.CodeActionParams) -> list[types.CodeAction]:
        return list(session.code_actions(params))

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    def hover(params: types.HoverParams) -> types.Hover | None:
        return session.hover(params)

    return server


class _Session:
    """What the server knows of the open documents.

    Args:
        server: where they are.
        configurations: see :func:`make`.
    """

    def __init__(self, server: LanguageServer, configurations: Callable[[], Configurations]) -> None:
        self._server = server
        self._open = OpenDocuments(configurations)
        self._complaint = ""
        self._found: dict[str, list[Diagnostic]] = {}
        self._published: dict[str, list[Diagnostic]] = {}
        self._waiting: asyncio.TimerHandle | None = None
        self._first = 0.0
        self._took = 0.0

    @property
    def _codec(self) -> PositionCodec:
        return self._server.workspace.position_codec

    def _documents(self) -> dict[str, TextDocument]:
        """The open documents that are ours to read, by path."""
        found = {}
        for document in self._server.workspace.text_documents.values():  # whose keys are not as the client has them
            path = _path(document.uri)
            if kind_of(path):
                found[path] = document
        return found

    def watch(self) -> None:
        """Ask the editor to tell of files that change outside of it: by a checkout, or another program."""
        watching = self._server.client_capabilities.workspace
        if watching and watching.did_change_watched_files and watching.did_change_watched_files.dynamic_registration:
            options = types.DidChangeWatchedFilesRegistrationOptions(
                [types.FileSystemWatcher(glob_pattern=pattern) for pattern in _WATCHED]
            )
            registration = types.Registration(_NAME, types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
            self._server.client_register_capability(types.RegistrationParams([registration]))

    def renew(self) -> None:
        """Read everything anew, soon."""
        self._complaint = ""
        self._open.renew()
        self.soon()

    def soon(self) -> None:
        """Lint once there is a pause, or at the latest after a while, so that a keystroke is answered and many are
        answered together.
        """
        loop = asyncio.get_running_loop()
        if self._waiting is None:
            self._first = loop.time()
        else:
            self._waiting.cancel()
        pause = max(_PAUSE, self._took)
        self._waiting = loop.call_at(min(loop.time() + pause, self._first + max(_LATEST, pause)), self._publish)

    def _lint(self) -> set[str]:
        """Lint what changed; the paths of what was linted. A wrong option is told to the user, once."""
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None
        start = time.monotonic()
        documents = self._documents()
        for path in self._found.keys() - documents.keys():
            self._open.drop(path)
        for path, document in documents.items():
            self._open.put(path, document.source.encode("utf-8", "surrogatepass"))
        self._found, again = self._open.lint()
        if self._open.complaint and self._open.complaint != self._complaint:
            message = visible(f"{_NAME}: {self._open.complaint}")
            self._server.window_show_message(types.ShowMessageParams(types.MessageType.Error, message))
            self._complaint = self._open.complaint
        self._took = time.monotonic() - start
        return again

    def _publish(self) -> None:
        """Send what is found in the documents that were linted, and in those where it is something else now."""
        again = self._lint()
        documents = self._documents()
        self._published = {path: found for path, found in self._published.items() if path in documents}
        for path, document in documents.items():
            found = self._found.get(path, [])
            if path in again or self._published.get(path) != found:
                self._published[path] = found
                lines = split_lines(document.source)
                sent = [self._diagnostic(diagnostic, lines) for diagnostic in found]
                self._server.text_document_publish_diagnostics(
                    types.PublishDiagnosticsParams(document.uri, sent, version=document.version)
                )

    def _range(self, span: Span, lines: list[str]) -> types.Range:
        start = types.Position(span.line - 1, span.column - 1)
        end = types.Position(span.end_line - 1, span.end_column - 1)
        return self._codec.range_to_client_units(lines, types.Range(start, end))

    def _diagnostic(self, diagnostic: Diagnostic, lines: list[str]) -> types.Diagnostic:
        diagnostic = shown(diagnostic)
        further = [f"note: {diagnostic.note}"] if diagnostic.note else []
        if diagnostic.help:
            further.append(f"help: {diagnostic.help}")
        return types.Diagnostic(
            range=self._range(diagnostic.span, lines),
            message="\n".join([diagnostic.message, *further]),
            severity=_SEVERITIES[diagnostic.severity],
            code=diagnostic.code,
            source=_NAME,
        )

    def code_actions(self, params: types.CodeActionParams) -> Iterator[types.CodeAction]:
        """A quick fix for each finding in the range that has one, and one for all that are safe."""
        uri = params.text_document.uri
        path = _path(uri)
        if path not in self._documents():
            return
        source = self._documents()[path].source
        lines = split_lines(source)
        if self._waiting is not None:
            self._publish()
        findings = [diagnostic for diagnostic in self._found.get(path, ()) if diagnostic.fix is not None]
        for diagnostic in findings:
            assert diagnostic.fix is not None
            sent = self._diagnostic(diagnostic, lines)
            if not _wants(params, types.CodeActionKind.QuickFix.value) or not _touch(sent.range, params.range):
                continue
            fix = resolved(diagnostic.fix, source)
            if fix is not None:
                yield types.CodeAction(
                    title=f"{fix.message} ({diagnostic.code})",
                    kind=types.CodeActionKind.QuickFix,
                    diagnostics=[sent],
                    is_preferred=fix.safe,
                    edit=self._edit(uri, fix, lines),
                )
        if _wants(params, _FIX_ALL):
            text = source.encode("utf-8", "surrogatepass")
            for content, _ in fixed(findings, {path: text}, unsafe=False).values():
                whole = Span(path, 1, 1, len(lines), len(lines[-1]) + 1)
                new = types.TextEdit(self._range(whole, lines), content.decode("utf-8", "surrogatepass"))
                edit = types.WorkspaceEdit(changes={uri: [new]})
                yield types.CodeAction(title="Fix all that can be fixed safely", kind=_FIX_ALL, edit=edit)

    def _edit(self, uri: str, fix: Fix, lines: list[str]) -> types.WorkspaceEdit:
        edits = [types.TextEdit(self._range(edit.span, lines), edit.text) for edit in fix.edits]
        return types.WorkspaceEdit(changes={uri: edits})

    def hover(self, params: types.HoverParams) -> types.Hover | None:
        """The effective settings of the site that the setting under the cursor belongs to."""
        path = _path(params.text_document.uri)
        if path not in self._documents():
            return None
        text = self._documents()[path].source
        place = self._codec.position_from_client_units(split_lines(text), params.position)
        line, column = place.line + 1, place.character + 1
        try:
            linter = self._open.linter()
            sites = linter.sites(path, text.encode("utf-8", "surrogatepass"))[0]
            for site in sites:
                spans = [setting.whole for setting in site.settings.values() if setting.span.path == path]
                here = next((span for span in spans if _holds(span, line, column)), None)
                if here is not None:
                    words = as_text(as_data(site, linter.contract(path).contract, {})).replace("`", "'")
                    content = types.MarkupContent(types.MarkupKind.Markdown, f"```text\n{words}```")
                    return types.Hover(content, self._range(here, split_lines(text)))
        except (UsageError, store.UnknownRelease):
            return None
        return None


def _path(uri: str) -> str:
    """The file that a URI names; empty for what is none yet."""
    path = uris.to_fs_path(uri)
    return os.path.normpath(path) if path else ""


def _wants(params: types.CodeActionParams, kind: str) -> bool:
    """Whether the client asks for actions of a kind, or for all."""
    only = params.context.only
    return only is None or any(kind == wanted or kind.startswith(f"{wanted}.") for wanted in only)


def _touch(left: types.Range, right: types.Range) -> bool:
    return left.start <= right.end and right.start <= left.end


def _holds(span: Span, line: int, column: int) -> bool:
    return (span.line, span.column) <= (line, column) <= (span.end_line, span.end_column)
