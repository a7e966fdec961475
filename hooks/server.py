"""The language server: findings as they arise, fixes, and the effective settings on hovering.

pygls speaks the protocol. What the editor has of its open documents goes before what is on the disk, also where they
are parents of others. A change is linted after a pause of 20 milliseconds, with the documents that inherit from the one
that changed (:mod:`.open_documents`).
"""

from __future__ import annotations

import asyncio
import os
import re
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
from ..sources.model import Finding, Fix, Site, Span
from ..sources.text import read_bytes, split_lines
from ..sources.visible import visible
from .describe import as_data, as_text
from .diagnostics import Diagnostic
from .editing import about, about_rule, links, offers, word_at
from .fix import fixed, resolved
from .home import page_of
from .open_documents import OpenDocuments
from .options import Configurations, UsageError
from .output.visible import shown
from .silence import suppression

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

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_LINK)
    def document_links(params: types.DocumentLinkParams) -> list[types.DocumentLink]:
        return list(session.links(params.text_document.uri))

    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    def definition(params: types.DefinitionParams) -> types.Location | None:
        return session.definition(params)

    triggers = types.CompletionOptions(trigger_characters=["[", ",", " ", ":"])

    @server.feature(types.TEXT_DOCUMENT_COMPLETION, triggers)
    def completion(params: types.CompletionParams) -> list[types.CompletionItem]:
        return list(session.completions(params))

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
            path = _path(document.uri, document.language_id or "")
            if kind_of(path):
                found[path] = document
        return found

    def _document(self, uri: str) -> tuple[str, TextDocument] | None:
        """An open document that is ours to read, with its path; None for another."""
        path = _path(uri)
        pairs = self._documents().items()
        return next(((own, one) for own, one in pairs if one.uri == uri or (path and own == path)), None)

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
        page = page_of(diagnostic.code)
        places = [(self._location(one.span), one.message) for one in diagnostic.related]
        related = [types.DiagnosticRelatedInformation(place, words) for place, words in places if place]
        diagnostic = shown(diagnostic)
        further = [f"note: {diagnostic.note}"] if diagnostic.note else []
        if diagnostic.help:
            further.append(f"help: {diagnostic.help}")
        return types.Diagnostic(
            range=self._range(diagnostic.span, lines),
            message="\n".join([diagnostic.message, *further]),
            severity=_SEVERITIES[diagnostic.severity],
            code=diagnostic.code,
            code_description=types.CodeDescription(page) if page else None,
            source=_NAME,
            related_information=related or None,
        )

    def _location(self, span: Span) -> types.Location | None:
        """A place in another file, or in this one; None where the file cannot be read."""
        documents = self._documents()
        if span.path in documents:
            document = documents[span.path]
            return types.Location(document.uri, self._range(span, split_lines(document.source)))
        uri, content = uris.from_fs_path(os.path.abspath(span.path)), read_bytes(span.path)
        if uri is None or isinstance(content, Finding):
            return None
        return types.Location(uri, self._range(span, split_lines(content.decode("utf-8", "replace"))))

    def code_actions(self, params: types.CodeActionParams) -> Iterator[types.CodeAction]:
        """A quick fix for each finding in the range that has one, and one for all that are safe."""
        uri = params.text_document.uri
        found = self._document(uri)
        if found is None:
            return
        path, source = found[0], found[1].source
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
        if _wants(params, types.CodeActionKind.QuickFix.value):
            yield from self._suppressions(uri, path, lines, params.range)
        if _wants(params, _FIX_ALL):
            text = source.encode("utf-8", "surrogatepass")
            for content, _ in fixed(findings, {path: text}, unsafe=False).values():
                whole = Span(path, 1, 1, len(lines), len(lines[-1]) + 1)
                new = types.TextEdit(self._range(whole, lines), content.decode("utf-8", "surrogatepass"))
                edit = types.WorkspaceEdit(changes={uri: [new]})
                yield types.CodeAction(title="Fix all that can be fixed safely", kind=_FIX_ALL, edit=edit)

    def _suppressions(self, uri: str, path: str, lines: list[str], where: types.Range) -> Iterator[types.CodeAction]:
        """For each finding in a range, an action that writes the comment which silences it, if one can stand there."""
        offered: set[tuple[str, int]] = set()
        for diagnostic in self._found.get(path, ()):
            sent = self._diagnostic(diagnostic, lines)
            line = diagnostic.span.line
            if (diagnostic.code, line) in offered or not _touch(sent.range, where):
                continue
            offered.add((diagnostic.code, line))
            new = suppression(path, "\n".join(lines), line, diagnostic.code)
            if new is not None:
                whole = Span(path, line, 1, line, len(lines[line - 1]) + 1)
                edit = types.TextEdit(self._range(whole, lines), new)
                yield types.CodeAction(
                    title=f"Suppress {diagnostic.code} on this line",
                    kind=types.CodeActionKind.QuickFix,
                    diagnostics=[sent],
                    edit=types.WorkspaceEdit(changes={uri: [edit]}),
                )

    def _edit(self, uri: str, fix: Fix, lines: list[str]) -> types.WorkspaceEdit:
        edits = [types.TextEdit(self._range(edit.span, lines), edit.text) for edit in fix.edits]
        return types.WorkspaceEdit(changes={uri: edits})

    def hover(self, params: types.HoverParams) -> types.Hover | None:
        """What the word under the cursor means, what is found there, and what is in effect at its site."""
        place = self._place(params)
        if place is None:
            return None
        path, text, line, column = place
        lines = split_lines(text)
        parts = [about_rule(one.code) for one in self._found.get(path, ()) if _holds(one.span, line, column)]
        shown_at = None
        try:
            linter = self._open.linter()
            meant = about(word_at(text, line, column), linter.contract(path).contract)
            parts = [*([meant] if meant else []), *parts]
            for site in linter.sites(path, text.encode("utf-8", "surrogatepass"))[0]:
                spans = [setting.whole for setting in site.settings.values() if setting.span.path == path]
                here = next((span for span in spans if _holds(span, line, column)), None)
                if here is not None:
                    words = as_text(as_data(site, linter.contract(path).contract, {})).replace("`", "'")
                    parts.append(f"```text\n{words}```")
                    shown_at = self._range(here, lines)
                    break
        except (UsageError, store.UnknownRelease):
            return None
        if not parts:
            return None
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, "\n\n".join(dict.fromkeys(parts))), shown_at)

    def _place(self, params: types.TextDocumentPositionParams) -> tuple[str, str, int, int] | None:
        """The path, the text, the line and the column that a request is about; None where the file is not open."""
        found = self._document(params.text_document.uri)
        if found is None:
            return None
        text = found[1].source
        place = self._codec.position_from_client_units(split_lines(text), params.position)
        return found[0], text, place.line + 1, place.character + 1

    def links(self, uri: str) -> Iterator[types.DocumentLink]:
        """The places in a document that name its parents."""
        found = self._document(uri)
        if found is None:
            return
        path, text = found[0], found[1].source
        for one in links(path, text, self._read(path, text)[1]):
            target = uris.from_fs_path(os.path.abspath(one.target))
            yield types.DocumentLink(self._range(one.span, split_lines(text)), target=target)

    def _read(self, path: str, text: str) -> tuple[list[Site], frozenset[str]]:
        """The sites of a document, and the files that it inherits from."""
        try:
            linter = self._open.linter()
            return linter.sites(path, text.encode("utf-8", "surrogatepass"))[0], linter.named()
        except (UsageError, store.UnknownRelease):
            return [], frozenset()

    def definition(self, params: types.DefinitionParams) -> types.Location | None:
        """The parent that is named under the cursor, or the inherited setting that the one under it replaces."""
        place = self._place(params)
        if place is None:
            return None
        path, text, line, column = place
        sites, parents = self._read(path, text)
        for one in links(path, text, parents):
            if _holds(one.span, line, column):
                return self._location(Span(one.target, 1, 1, 1, 1))
        for setting in (setting for site in sites for setting in site.settings.values()):
            if setting.replaces and setting.span.path == path and _holds(setting.whole, line, column):
                return self._location(setting.replaces.key)
        return None

    def completions(self, params: types.CompletionParams) -> Iterator[types.CompletionItem]:
        """Modules, and the values of a field, each with what it means."""
        place = self._place(params)
        if place is None:
            return
        path, text, line, column = place
        try:
            contract = self._open.linter().contract(path).contract
        except (UsageError, store.UnknownRelease):
            return
        for offer in offers(text, line, column, contract):
            yield types.CompletionItem(
                offer.text,
                kind=types.CompletionItemKind.EnumMember,
                detail=offer.summary,
                documentation=types.MarkupContent(types.MarkupKind.Markdown, offer.page),
            )


#: What the name of a document that is no file yet ends with, by the editor's word for its language.
_ENDINGS = {
    "json": ".json",
    "makefile": ".mk",
    "python": ".py",
    "shellscript": ".sh",
    "sh": ".sh",
    "toml": ".toml",
    "yaml": ".yaml",
}


def _path(uri: str, language: str = "") -> str:
    """The file that a URI names; for what is none yet, a name in the current folder, if its language is one of ours."""
    if uri.startswith("untitled:"):
        name = re.sub(r"\W", "_", uri.removeprefix("untitled:"))
        return f"{name}{_ENDINGS[language]}" if language in _ENDINGS else ""
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
