"""Write README's tables of rules and dialects from the registry: ``python tools/update_readme.py [--check]``."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from recompute_lint.lint_rules import pages  # noqa: E402
from recompute_lint.lint_rules.registry import RULES  # noqa: E402
from recompute_lint.sources.dialects import DIALECTS  # noqa: E402


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
    return text


def main() -> int:
    """Update README.md, or only tell whether it is up to date."""
    path = ROOT / "README.md"
    text = path.read_text()
    new = updated(text)
    if "--check" in sys.argv[1:]:
        return int(new != text)
    path.write_text(new)
    return 0


if __name__ == "__main__":
    sys.exit(main())
