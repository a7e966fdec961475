"""What is reported, and where: findings placed in the files that were linted."""

from collections.abc import Callable
from typing import NamedTuple

from ..lint_rules import registry
from ..sources.model import Finding, Fix, Span


class Related(NamedTuple):
    """Another place that has a part in a mistake, and which part."""

    span: Span
    message: str


class Diagnostic(NamedTuple):
    """One line of a report."""

    span: Span
    code: str
    message: str
    note: str = ""
    help: str = ""
    fix: Fix | None = None
    #: The other files that have the mistake by inheritance.
    inherited_by: tuple[str, ...] = ()
    #: ``error`` or ``warning``, where it is not what the rule's others are.
    own_severity: str = ""
    #: Where the mistake is, if it is shown elsewhere since that file is not linted.
    home: Span | None = None
    #: The other settings that make the mistake together with the one at ``span``.
    related: tuple[Related, ...] = ()

    @property
    def name(self) -> str:
        """The rule's name."""
        return registry.RULES[self.code].name

    @property
    def severity(self) -> str:
        """``error`` or ``warning``."""
        return self.own_severity or registry.RULES[self.code].severity


class Raw(NamedTuple):
    """A finding, and the file whose linting brought it up."""

    file: str
    #: Where to point in ``file`` when the finding is in one of its parents.
    anchor: Span
    finding: Finding

    @property
    def code(self) -> str:
        """The code of the finding's rule."""
        return registry.find(self.finding.rule).code


def _related(finding: Finding) -> tuple[Related, ...]:
    """The settings that a finding involves and does not point into, each once."""
    at = finding.span
    places = {
        setting.whole: Related(setting.whole, f"{setting.name} is set here")
        for setting in finding.involved
        if setting.key.line
        and not (setting.whole.path == at.path and setting.whole[1:3] <= at[1:3] and at[3:] <= setting.whole[3:])
    }
    return tuple(places.values())


def place(
    found: list[Raw],
    linted: set[str],
    is_shown: Callable[[Diagnostic], bool] = lambda diagnostic: True,
    *,
    in_each_file: bool = False,
) -> list[Diagnostic]:
    """Put every finding where its reader can act on it, each mistake once, in the order of the files' text.

    A mistake in a parent that is linted too is reported there, with those who inherit it. Where the parent has no such
    finding by itself, the recipe has completed the mistake, and the setting of its own that does so is shown; where it
    has no such setting or the parent is not linted, its ``defaults:`` line, in the first of the recipes that inherit.

    Args:
        found: the findings.
        linted: the files linted.
        is_shown: whether a finding is wanted at its place, and no comment silences it.
        in_each_file: whether every recipe that inherits a mistake shows it, as an editor does, and not only the first.
    """
    at_home = {(raw.code, raw.finding.span) for raw in found if raw.finding.span.path == raw.file}
    placed: dict[tuple[str, Span, str], Diagnostic] = {}
    inheritors: dict[tuple[str, Span, str], list[str]] = {}
    for raw in found:
        file, anchor, finding = raw
        diagnostic = Diagnostic(
            finding.span,
            raw.code,
            finding.message,
            finding.note,
            finding.help,
            finding.fix,
            own_severity=finding.severity,
            related=_related(finding),
        )
        home, mistake = finding.span.path, None
        if home != file:
            own = next((setting.span for setting in finding.involved if setting.span.path == file), None)
            if (raw.code, finding.span) not in at_home and (own is not None or home not in linted):
                origin = f"{home}:{finding.span.line}"
                related = (Related(finding.span, "inherited from here"), *diagnostic.related)
                diagnostic = diagnostic._replace(
                    span=own or anchor,
                    message=f"{finding.message} ({origin})",
                    fix=None,
                    home=finding.span,
                    related=tuple(one for one in related if one.span != (own or anchor)),
                )
                mistake = finding.span if own is None and not in_each_file else None
        if not is_shown(diagnostic):
            continue
        key = (raw.code, mistake or diagnostic.span, "" if home in linted else finding.message)
        first = placed.setdefault(key, diagnostic)
        if first.severity != diagnostic.severity == "error":  # what does no harm at home may do so in a child
            placed[key] = first._replace(own_severity="error")
        shown = first.span.path
        if shown != file and file not in inheritors.setdefault(key, []):
            inheritors[key].append(file)
    return sorted(
        (diagnostic._replace(inherited_by=tuple(inheritors.get(key, ()))) for key, diagnostic in placed.items()),
        key=lambda diagnostic: (diagnostic.span, diagnostic.code),
    )
