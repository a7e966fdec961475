"""The language server: findings as they arise, fixes, and the effective settings on hovering.

pygls speaks the protocol. All open documents are linted together whenever one of them changes, with what the editor has
of them, since a recipe's mistake may come from its parent; parents that are not open are read from disk.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

from lsprotocol import types
from pygls import uris
from pygls.lsp.server import LanguageServer
from pygls.workspace import PositionCodec

from .. import __version__  # pyrefly: ignore[missing-module-attribute]  # the package is mapped from folders
from ..schemas import store
from ..sources.files import kind_of
from ..sources.model import Fix, Span
from ..sources.text import split_lines
from .contracts import Contracts
from .describe import as_data, as_text
from .diagnostics import Diagnostic
from .engine import Linter
from .fix import fixed, resolved
from .options import Configurations, UsageError

_NAME = "recompute-lint"
_SEVERITIES = {"error": types.DiagnosticSeverity.Error, "warning": types.DiagnosticSeverity.Warning}
_FIX_ALL = f"{types.CodeActionKind.SourceFixAll.value}.{_NAME}"


def make(configurations: Callable[[], Configurations]) -> LanguageServer:
    """The server; ``start_io()`` runs it.

    Args:
        configurations: makes the options of files, anew for each time that they are linted.
    """
    server = LanguageServer(_NAME, __version__)
    session = _Session(server, configurations)

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def changed(_: Any) -> None:
        session.publish()

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: types.DidCloseTextDocumentParams) -> None:
        nothing = types.PublishDiagnosticsParams(params.text_document.uri, [])
        server.text_document_publish_diagnostics(nothing)
        session.publish()

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
        self._configurations = configurations
        self._complaint = ""

    @property
    def _codec(self) -> PositionCodec:
        return self._server.workspace.position_codec

    def _documents(self) -> dict[str, tuple[str, str]]:
        """The open documents that are ours to read, by path: the URI and the text."""
        found = {}
        for document in self._server.workspace.text_documents.values():  # whose keys are not as the client has them
            path = _path(document.uri)
            if kind_of(path):
                found[path] = document.uri, document.source
        return found

    def _linter(self) -> Linter:
        configurations = self._configurations()
        return Linter(configurations, contracts=Contracts(configurations, cache=True))

    def _lint(self) -> dict[str, list[Diagnostic]]:
        """The findings in each open document, by path. A wrong option is told to the user, once."""
        given = {path: text.encode("utf-8", "surrogatepass") for path, (_, text) in self._documents().items()}
        found: dict[str, list[Diagnostic]] = {path: [] for path in given}
        try:
            linter = self._linter()
            wanted = [path for path in given if not linter.is_excluded(path)]
            for diagnostic in linter.run(wanted, given).diagnostics:
                found.setdefault(diagnostic.span.path, []).append(diagnostic)
            self._complaint = ""
        except (UsageError, store.UnknownRelease) as error:
            if str(error) != self._complaint:
                self._complaint = str(error)
                message = types.ShowMessageParams(types.MessageType.Error, f"{_NAME}: {error}")
                self._server.window_show_message(message)
        return found

    def publish(self) -> None:
        """Lint all open documents and send what is found."""
        found = self._lint()
        for path, (uri, text) in self._documents().items():
            lines = split_lines(text)
            sent = [self._diagnostic(diagnostic, lines) for diagnostic in found[path]]
            self._server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, sent))

    def _range(self, span: Span, lines: list[str]) -> types.Range:
        start = types.Position(span.line - 1, span.column - 1)
        end = types.Position(span.end_line - 1, span.end_column - 1)
        return self._codec.range_to_client_units(lines, types.Range(start, end))

    def _diagnostic(self, diagnostic: Diagnostic, lines: list[str]) -> types.Diagnostic:
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
        lines = split_lines(self._documents()[path][1])
        findings = [diagnostic for diagnostic in self._lint()[path] if diagnostic.fix is not None]
        for diagnostic in findings:
            assert diagnostic.fix is not None
            sent = self._diagnostic(diagnostic, lines)
            if not _wants(params, types.CodeActionKind.QuickFix.value) or not _touch(sent.range, params.range):
                continue
            fix = resolved(diagnostic.fix, self._documents()[path][1])
            if fix is not None:
                yield types.CodeAction(
                    title=f"{fix.message} ({diagnostic.code})",
                    kind=types.CodeActionKind.QuickFix,
                    diagnostics=[sent],
                    is_preferred=fix.safe,
                    edit=self._edit(uri, fix, lines),
                )
        if _wants(params, _FIX_ALL):
            text = self._documents()[path][1].encode("utf-8", "surrogatepass")
            for content, _ in fixed(findings, lambda _: text, unsafe=False).values():
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
        text = self._documents()[path][1]
        place = self._codec.position_from_client_units(split_lines(text), params.position)
        line, column = place.line + 1, place.character + 1
        try:
            linter = self._linter()
            linter.seed(
                {other: source.encode("utf-8", "surrogatepass") for other, (_, source) in self._documents().items()}
            )
            sites = linter.sites(path, text.encode("utf-8", "surrogatepass"))[0]
            for site in sites:
                spans = [setting.whole for setting in site.settings.values() if setting.span.path == path]
                here = next((span for span in spans if _holds(span, line, column)), None)
                if here is not None:
                    shown = as_text(as_data(site, linter.contract(path).contract.defaults, {}))
                    content = types.MarkupContent(types.MarkupKind.Markdown, f"```text\n{shown}```")
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
