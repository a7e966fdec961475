"""What tells a line from others when lines above it come and go.

GitHub compares ``primaryLocationLineHash``, which its upload action (``github/codeql-action``, ``src/fingerprints.ts``)
works out where a log has none: of the hundred characters from the start of a line on, blanks left out, line ends as
newlines, 65535 for the end of the file and zeros behind it, the polynomial in 37, as 64 bits; and how many lines up to
this one have the same. This is the same number, so that a log may be uploaded in any way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

_CHARACTERS = 100
_BASE = 37
_BITS = (1 << 64) - 1
_END = 65535


def line_hashes(lines: Sequence[str]) -> list[str]:
    """The hash of each line of a file.

    Args:
        lines: the lines, without their ends.
    """
    starts, units = [], []
    for line in lines:
        starts.append(len(units))
        units.extend(_units(line))
        units.append(ord("\n"))
    units[-1:] = [_END]  # the last line has no end
    units.extend([0] * _CHARACTERS)
    top = pow(_BASE, _CHARACTERS, _BITS + 1)
    value = 0
    seen: Counter[int] = Counter()
    found = []
    at = 0
    for start in starts:
        while at < start + _CHARACTERS:
            leaving = units[at - _CHARACTERS] if at >= _CHARACTERS else 0
            value = (value * _BASE + units[at] - top * leaving) & _BITS
            at += 1
        seen[value] += 1
        found.append(f"{value:x}:{seen[value]}")
    return found


def _units(line: str) -> list[int]:
    """The characters as JavaScript counts them, without blanks."""
    plain = line.replace(" ", "").replace("\t", "")
    if plain.isascii():
        return list(plain.encode())
    coded = plain.encode("utf-16-le", "surrogatepass")
    return [coded[index] | coded[index + 1] << 8 for index in range(0, len(coded), 2)]
