"""Files that are nearly scripts, made scripts of the same length: Docker files, justfiles, templates."""

from __future__ import annotations

import re

from .fragment import Fragment, whole

_INSTRUCTION = re.compile(
    r"^[ \t]*(?:RUN|CMD|ENTRYPOINT|ENV|ARG|SHELL|HEALTHCHECK(?:[ \t]+CMD)?)[ \t]+", re.MULTILINE | re.IGNORECASE
)
_OTHER = re.compile(
    r"^[ \t]*(?:FROM|COPY|ADD|LABEL|EXPOSE|USER|WORKDIR|VOLUME|STOPSIGNAL|ONBUILD|MAINTAINER)\b[^\n]*", re.MULTILINE
)
#: A here-document that is run, and one that becomes a file.
_RUN_LINES = re.compile(r"^([ \t]*)RUN(?=[ \t]+<<)", re.MULTILINE | re.IGNORECASE)
_COPIED_LINES = re.compile(r"^([ \t]*)(?:COPY|ADD)([ \t]+<<\S+)[ \t](\S+)(?=[ \t]*$)", re.MULTILINE | re.IGNORECASE)
_OPTIONS = re.compile(r"(?:--(?:mount|network|security)=\S+[ \t]+)+")
#: The form of a command that is a JSON list.
_LIST = re.compile(r"\[[^\[\]\n]*(?:\\\n[^\[\]\n]*)*\](?=[ \t]*$)", re.MULTILINE)


def of_docker(text: str) -> Fragment:
    """A Docker file: what its instructions run, and the variables that they set."""
    script = _RUN_LINES.sub(r"\1sh ", text)
    script = _COPIED_LINES.sub(lambda match: f"{match[1]}tee{match[2]}>{match[3]}".rjust(len(match.group())), script)
    script = _OTHER.sub(_blank, script)
    found = []
    at = 0
    for match in _INSTRUCTION.finditer(script):
        found.append(script[at : match.start()] + _blank(match))
        at = match.end()
        options = _OPTIONS.match(script, at)
        if options is not None:
            found.append(_blank(options))
            at = options.end()
        words = _LIST.match(script, at)
        if words is not None:
            found.append(re.sub(r'"(?:[^"\\]|\\.)*"|[\[\],]', _unlisted, words.group()))
            at = words.end()
    return whole("script", "".join((*found, script[at:])))


def _unlisted(match: re.Match[str]) -> str:
    return match.group() if len(match.group()) > 1 else " "


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match.group())


_VARIABLE = re.compile(r"^(?:export[ \t]+)?([A-Za-z_][\w-]*)([ \t]*:=[ \t]*)", re.MULTILINE)
_HEADER = re.compile(r"^(?![ \t#\n]|[^\n:]*:=)[^\n]*", re.MULTILINE)
_FILLED = re.compile(r"\{\{([ \t]*)([A-Za-z_][\w-]*)([ \t]*)\}\}|\{\{[^\n]*?\}\}")
_MARK = re.compile(r"^([ \t]+)[@-]+", re.MULTILINE)


def of_just(text: str) -> Fragment:
    """A justfile: its variables, and the commands of its recipes. ``{{x}}`` is ``${x-}``, which is as long."""
    script = _HEADER.sub(_blank, text)
    script = _FILLED.sub(_expansion, script)
    script = _MARK.sub(_blank, script)
    return whole("script", _VARIABLE.sub(_assignment, script))


def _assignment(match: re.Match[str]) -> str:
    name = f"{match[1].replace('-', '_')}="
    return name.rjust(len(match.group()))


def _expansion(match: re.Match[str]) -> str:
    if not match[2]:
        return _unknown(match)
    blanks = len(match[1]) + len(match[3])
    return f"${{{match[2].replace('-', '_')}{':' * (blanks % 2)}-}}" + '""' * (blanks // 2)


def _unknown(match: re.Match[str]) -> str:
    """What only a run can tell, as the shell has it, and as long."""
    return "`" + re.sub(r"[^\n]", "x", match.group())[1:-1] + "`"


_FILLING = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)
_REMARK = re.compile(r"\{#.*?#\}", re.DOTALL)


def of_template(text: str, kind: str) -> Fragment:
    """A template of a script, Python or YAML: what is filled in is unknown.

    Args:
        text: the template.
        kind: what it becomes.
    """
    text = _REMARK.sub(_blank, text)
    if kind == "script":
        return whole(kind, _FILLING.sub(_unknown, text))
    statement = re.compile(r"^[ \t]*\{%.*?%\}[ \t]*$", re.MULTILINE)
    text = statement.sub(_blank, text)
    return whole(kind, _FILLING.sub(_interpolation if kind == "yaml" else _name, text))


def _interpolation(match: re.Match[str]) -> str:
    return "${" + re.sub(r"[^\n]", "x", match.group())[2:-1] + "}"


def _name(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", "x", match.group())
