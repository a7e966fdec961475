"""What a repository needs to be linted by itself: its configuration, the hook of pre-commit, and the job in CI.

Each is worked out as a change of one file. Nothing is written here, and what is there already stays as it is.
"""

from __future__ import annotations

import json
import os
from typing import Any, NamedTuple

try:
    import tomllib
except ImportError:  # Python 3.10
    import tomli as tomllib  # type: ignore[no-redef]

from ..schemas import detect, store
from ..schemas.choose import choose, statement
from ..schemas.reading import read
from ..sources.errors import UsageError
from ..sources.text import reason_of
from .options import Configurations

_PRE_COMMIT = ".pre-commit-config.yaml"
_WORKFLOW = os.path.join(".github", "workflows", "recompute-lint.yml")
_GITLAB = ".gitlab-ci.yml"


class Origin(NamedTuple):
    """Where recompute-lint is had from."""

    #: What git clones: an address, or a folder on this machine.
    url: str
    revision: str

    @property
    def is_remote(self) -> bool:
        """Whether another machine can clone it, too."""
        return ("://" in self.url and not self.url.startswith("file:")) or self.url.startswith("git@")


class Change(NamedTuple):
    """A file that is made, or changed."""

    #: Relative to the repository.
    path: str
    #: None where there is no such file yet.
    old: bytes | None
    new: bytes


class Plan(NamedTuple):
    """What there is to write, and what is to be said of the rest."""

    changes: list[Change]
    remarks: list[str]


def plan(root: str, origin: Origin, mcore: str = "") -> Plan:
    """What the repository at ``root`` lacks.

    Args:
        root: the repository.
        origin: where the hook and the job get recompute-lint from.
        mcore: the Megatron-Core in use; empty to take what the repository's files or its environment say.

    Raises:
        UsageError: a file that is there cannot be read or understood.
        store.UnknownRelease: ``mcore`` names none.
    """
    found = Plan([], [])
    for part in (_configuration(root, mcore), _hook(root, origin), _job(root, origin)):
        found.changes.extend(part.changes)
        found.remarks.extend(part.remarks)
    if not origin.is_remote and any(change.path == _PRE_COMMIT for change in found.changes):
        found.remarks.append(
            f"warning: {origin.url} is on this machine: the hook runs here, and nowhere else that {_PRE_COMMIT} is "
            "checked out. --repo URL names an address that others can clone."
        )
    return found


def _configuration(root: str, mcore: str) -> Plan:
    options = Configurations({}).for_file(os.path.join(root, "recipe.yaml"))
    if options.root == root:
        return Plan([], ["The configuration is there already."])
    lines = ["[tool.recompute-lint]", *_release(root, mcore)]
    vendored = [path for path in detect.submodules(root) if not path.startswith("..")]
    if vendored:
        lines += ["# what others maintain", f"exclude = {json.dumps(vendored)}"]
    pyproject = _content(root, "pyproject.toml")
    if pyproject is None:
        return Plan([Change("recompute-lint.toml", None, _text(lines[1:]))], [])
    change = Change("pyproject.toml", pyproject, _below(pyproject, _text(lines)))
    try:
        tomllib.loads(change.new.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{os.path.join(root, change.path)}: invalid TOML: {error}") from None
    return Plan([change], [])


def _release(root: str, mcore: str) -> list[str]:
    """The lines that say which Megatron-Core is in use; a comment alone where the repository's files do."""
    if mcore:
        choose(mcore, root)
        return [f"mcore = {json.dumps(mcore)}"]
    said = statement(root)
    if said is not None and said.hint.absent:
        return [f"# mcore: that of {said.hint.where}, once it is checked out"]
    if said is not None and not said.choice.assumed:
        return [f"# mcore: {said.choice.contract.version} today, {said.choice.reason}"]
    choice = choose("", root)
    if not choice.assumed:
        return [f"mcore = {json.dumps(choice.contract.version)}  # {choice.reason}"]
    return [
        "# the megatron-core that the recipes run with; until it is set, the newest known is assumed",
        f"# mcore = {json.dumps(store.releases()[-1])}",
    ]


def _hook(root: str, origin: Origin) -> Plan:
    entry = f"- repo: {origin.url}\n  rev: {origin.revision}\n  hooks:\n    - id: recompute-lint\n"
    old = _content(root, _PRE_COMMIT)
    if old is None:
        return Plan([Change(_PRE_COMMIT, None, _text(["repos:", _indented(entry, 2).rstrip()]))], [])
    if b"id: recompute-lint" in old:
        return Plan([], [f"{_PRE_COMMIT} has the hook already."])
    new = _with_entry(old.decode("utf-8", "surrogateescape"), entry)
    if new is None:
        return Plan([], [f"{_PRE_COMMIT} is written in a way that is left as it is; add this to repos:\n{entry}"])
    return Plan([Change(_PRE_COMMIT, old, new.encode("utf-8", "surrogateescape"))], [])


def _with_entry(text: str, entry: str) -> str | None:
    """pre-commit's configuration with another repository at the end; None where it cannot be put there for certain."""
    import yaml

    text = text if text.endswith("\n") else f"{text}\n"
    try:
        before = yaml.safe_load(text)
        whole = yaml.compose(text)
        repos = next(value for key, value in whole.value if key.value == "repos")
        last = repos.value[-1]
        if repos.flow_style or last.flow_style:
            return None
        place, indent = _end(last), repos.start_mark.column
        lines = text.splitlines(keepends=True)
        lines[place] = lines[place].rstrip("\r\n") + "\n"
        new = "".join([*lines[: place + 1], _indented(entry, indent), *lines[place + 1 :]])
        after = yaml.safe_load(new)
        expected = {**before, "repos": [*before["repos"], *yaml.safe_load(entry)]}
    except (yaml.YAMLError, AttributeError, IndexError, KeyError, StopIteration, TypeError, ValueError, RecursionError):
        return None
    return new if after == expected else None


def _end(node: Any) -> int:
    """The last line of a node, counted from 0, without the comments and empty lines that come after it."""
    if isinstance(node.value, list) and node.value and not node.flow_style:
        last = node.value[-1]
        return max(map(_end, last if isinstance(last, tuple) else (last,)))
    return node.end_mark.line - (node.end_mark.column == 0 and node.end_mark.line > node.start_mark.line)


def _job(root: str, origin: Origin) -> Plan:
    """The job in CI: GitHub's, or GitLab's where the repository is one of GitLab's."""
    is_gitlab = os.path.exists(os.path.join(root, _GITLAB)) and not os.path.isdir(os.path.join(root, ".github"))
    if not origin.is_remote:
        return Plan([], [f"CI cannot clone {origin.url}: no job is written. --repo URL says where it can be cloned."])
    package = f"recompute-lint @ git+{origin.url}@{origin.revision}"
    if is_gitlab:
        return _gitlab_job(root, package)
    folder = os.path.join(root, ".github", "workflows")
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    for name in names:
        # GitHub reads nothing else there; other programs keep folders and settings beside the workflows
        if not name.endswith((".yml", ".yaml")) or not os.path.isfile(os.path.join(folder, name)):
            continue
        if b"recompute-lint" in (_content(root, os.path.join(".github", "workflows", name)) or b""):
            return Plan([], [f".github/workflows/{name} runs recompute-lint already."])
    return Plan([Change(_WORKFLOW, None, _GITHUB_JOB.replace("PACKAGE", package).encode())], [])


def _gitlab_job(root: str, package: str) -> Plan:
    old = _content(root, _GITLAB) or b""
    if b"recompute-lint" in old:
        return Plan([], [f"{_GITLAB} runs recompute-lint already."])
    return Plan([Change(_GITLAB, old, _below(old, _GITLAB_JOB.replace("PACKAGE", package).encode()))], [])


#: Actions are pinned to commits, as zizmor asks: a tag can be moved.
_GITHUB_JOB = """\
name: recompute-lint
on:
  push:
    branches: [main, master]
  pull_request:
permissions:
  contents: read
jobs:
  recompute-lint:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1  # v7.0.1
        with:
          persist-credentials: false
      - uses: actions/setup-python@5fda3b95a4ea91299a34e894583c3862153e4b97  # v7.0.0
        with:
          python-version: "3.12"
      - run: pip install "PACKAGE"
      - run: recompute-lint --output-format github .
"""

_GITLAB_JOB = """\
recompute-lint:
  image: python:3.12
  script:
    - pip install "PACKAGE"
    - recompute-lint --output-format gitlab --output-file gl-code-quality-report.json .
  artifacts:
    when: always
    reports:
      codequality: gl-code-quality-report.json
"""


def _content(root: str, name: str) -> bytes | None:
    """A file of the repository; None where there is none."""
    path = os.path.join(root, name)
    if not os.path.lexists(path):
        return None
    try:
        return read(path)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {reason_of(error)}") from None


def _below(old: bytes, added: bytes) -> bytes:
    """``added`` behind an empty line at the end of what is there."""
    return old.rstrip() + b"\n\n" + added if old.strip() else added


def _text(lines: list[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def _indented(text: str, by: int) -> str:
    return "".join(f"{' ' * by}{line}" for line in text.splitlines(keepends=True))
