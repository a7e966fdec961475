"""Where recompute-lint can be had. On the day that it is published, what stands here changes, and nothing else.

``python tools/update_readme.py`` then writes README, pyproject.toml and the package of the extension for VS Code anew.
CONTRIBUTING.md has the steps.
"""

from __future__ import annotations

#: The repository's address, as git clones it; empty while there is none to name.
REPOSITORY: str = ""

#: The address of the documentation, without a slash at its end; empty while there is none.
DOCUMENTATION: str = ""

#: Whether the name on PyPI is ours. Until then, no message and no page tells anybody to install it from there.
ON_PYPI: bool = False


def origin() -> tuple[str, str]:
    """The repository, and the revision of it that is this release; empty for what is not known.

    While :data:`REPOSITORY` is empty, that is what this copy was installed from (PEP 610): an address and a commit, or
    the folder of a checkout without a revision.
    """
    import json
    from importlib import metadata
    from urllib.parse import unquote, urlsplit

    try:
        installed = metadata.distribution("recompute-lint")
        found = json.loads(installed.read_text("direct_url.json") or "{}")
    except (metadata.PackageNotFoundError, ValueError):
        return REPOSITORY, ""
    if REPOSITORY:
        return REPOSITORY, f"v{installed.version}"
    if "vcs_info" in found:
        return found["url"], found["vcs_info"].get("commit_id", "")
    address = urlsplit(found.get("url", ""))
    return (unquote(address.path), "") if address.scheme == "file" and "dir_info" in found else ("", "")


def requirement(extra: str = "") -> str:
    """What ``pip install`` takes to install this release, with an extra; quoted for a shell."""
    named = f"recompute-lint[{extra}]" if extra else "recompute-lint"
    if ON_PYPI:
        return f"'{named}'"
    url, revision = origin()
    if not url:
        return f"'.[{extra}]' (in a checkout)" if extra else ". (in a checkout)"
    if not revision and "://" not in url:
        return f"'{url}[{extra}]'" if extra else f"'{url}'"
    return f"'{named} @ git+{url}{'@' if revision else ''}{revision}'"
