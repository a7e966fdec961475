"""Write the parts of README that other files decide: ``python tools/update_readme.py [--check | --links ADDRESS]``.

These are the tables of rules and dialects, and the commands that install recompute-lint, which change on the day when
it is published (``recompute_lint/published.py``); so do the addresses in pyproject.toml and in the package of the
extension for VS Code, which are written too. With ``--links``, links to files of the repository become links to an
address: a package index shows README without them.
"""

from __future__ import annotations

import re
import sys
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from recompute_lint import __version__, published  # noqa: E402
from recompute_lint.lint_rules import pages  # noqa: E402
from recompute_lint.lint_rules.registry import RULES  # noqa: E402
from recompute_lint.sources.dialects.table import DIALECTS  # noqa: E402


def tables() -> dict[str, list[str]]:
    """The rows of each table, by the name in its marker."""
    return {
        "rules": [
            "| code | name | severity | fix | |",
            "|---|---|---|---|---|",
            *(
                f"| {code} | {rule.name} | {rule.severity} | {_fix(code)} | {_plain(pages.summary(code))} |"
                for code, rule in RULES.items()
            ),
        ],
        "dialects": [
            "| dialect | files |",
            "|---|---|",
            *(f"| {dialect.name} | {_plain(_summary(dialect.module))} |" for dialect in DIALECTS),
        ],
    }


def blocks() -> dict[str, str]:
    """The text of each block of code, by the name in its marker."""
    package = f'"recompute-lint @ git+{published.REPOSITORY}@v{__version__}"'
    if published.ON_PYPI:
        package = "recompute-lint"
    if published.REPOSITORY:
        install = f"$ pip install {package}\n"
        repository, revision = published.REPOSITORY, f"v{__version__}"
        job = f"- run: pip install {package}\n"
    else:
        install = "$ pip install PATH_OF_A_CHECKOUT     # of this repository; or git+ and the address of a clone\n"
        repository, revision = "PATH_OR_ADDRESS_OF_A_CLONE", "COMMIT    # what `git rev-parse HEAD` says there"
        job = "- run: pip install git+ADDRESS_OF_A_CLONE@COMMIT\n"
    return {
        "install": install,
        "pre-commit": f"repos:\n  - repo: {repository}\n    rev: {revision}\n    hooks:\n      - id: recompute-lint\n",
        "ci": f"{job}- run: recompute-lint --output-format github .\n",
    }


def _fix(code: str) -> str:
    return "yes" if pages.fixable(code) else ""


def _summary(module: str) -> str:
    doc = import_module(f"recompute_lint.sources.dialects.{module}").__doc__ or ""
    return " ".join(doc.split("\n\n")[0].split())


def _plain(text: str) -> str:
    return re.sub(r"``([^`]*)``", r"`\1`", text).replace("|", "\\|")


def updated(text: str) -> str:
    """``text`` with every table after a marker written anew."""
    for name, rows in tables().items():
        pattern = rf"(<!-- {name} -->\n)(?:\|.*\n)*"
        replacement = "\n".join([*rows, ""])
        text, count = re.subn(pattern, lambda match, rows=replacement: match[1] + rows, text)
        if count != 1:
            raise SystemExit(f"README.md has no place for the table of {name}")
    for name, block in blocks().items():
        pattern = rf"(<!-- {name} -->\n```\w+\n)(?:(?!```).*\n)*"
        text, count = re.subn(pattern, lambda match, block=block: match[1] + block, text)
        if count != 1:
            raise SystemExit(f"README.md has no place for the block {name}")
    return text


def addresses(pyproject: str) -> str:
    """pyproject.toml's text with the table of the project's addresses; without one while there are none."""
    text = re.sub(r"(?m)^\[project\.urls\]\n(?:(?!\[).*\n)*", "", pyproject)
    if not published.REPOSITORY:
        return text
    blob = f"{published.REPOSITORY.removesuffix('.git')}/blob/main"
    urls = {
        "Changelog": f"{blob}/CHANGELOG.md",
        "Documentation": published.DOCUMENTATION or f"{blob}/README.md",
        "Issues": f"{published.REPOSITORY.removesuffix('.git')}/issues",
        "Repository": published.REPOSITORY,
    }
    table = "".join(f'{name} = "{url}"\n' for name, url in urls.items())
    return re.sub(r"(?m)^\[project\.scripts\]\n(?:.+\n)+\n", lambda match: f"{match[0]}[project.urls]\n{table}\n", text)


def extension(package: str) -> str:
    """The text of the extension's package.json with the repository's address; without one while there is none."""
    text = re.sub(r'(?m)^  "repository": .*\n', "", package)
    if not published.REPOSITORY:
        return text
    row = f'  "repository": {{ "type": "git", "url": "{published.REPOSITORY}" }},\n'
    return re.sub(r'(?m)^  "license": .*\n', lambda match: match[0] + row, text)


#: What is written, by file.
FILES = {"README.md": updated, "pyproject.toml": addresses, "editors/vscode/package.json": extension}


def with_links(text: str, address: str) -> str:
    """``text`` with what links to a file of the repository linking to ``address`` and its name."""
    return re.sub(r"(\]\()(?![a-z]+:|#)", lambda match: f"{match[1]}{address.rstrip('/')}/", text)


def main() -> int:
    """Update the files, or only tell whether they are up to date."""
    stale = False
    for name, update in FILES.items():
        path = ROOT / name
        text = path.read_text(encoding="utf-8")
        new = update(text)
        if name == "README.md" and "--links" in sys.argv[1:]:
            new = with_links(new, sys.argv[sys.argv.index("--links") + 1])
        stale = stale or new != text
        if "--check" not in sys.argv[1:] and new != text:
            path.write_text(new, encoding="utf-8")
    return int(stale and "--check" in sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
