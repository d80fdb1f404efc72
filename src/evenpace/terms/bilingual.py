"""Texts of data files in both languages, and how what was read is filled into them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from string import Formatter

import msgspec

# What a shell takes as it is, in quotes or out of them, and no program takes for an option.
_PLAIN_WORD = re.compile(r"[A-Za-z0-9_.:,@%/+=][A-Za-z0-9_.:,@%/+=-]{0,4095}")


class Text(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hold a text in both languages; `{rank}`, `{host}`, `{gpu}` and whatever was read are filled in."""

    en: str
    ko: str

    def say(self, lang: str, details: Mapping[str, str]) -> str:
        """Return the text in `lang`; what is not known stands as `<name>`."""
        return fill(self.ko if lang == "ko" else self.en, details)


def fill(template: str, details: Mapping[str, str]) -> str:
    """Fill `{name}` with what is known; an unknown one becomes `<name>`. Other braces stay as they are."""
    return "".join(_parts(template, details))


def _parts(template: str, details: Mapping[str, str]) -> Iterator[str]:
    for literal, name, _, _ in Formatter().parse(template):
        yield literal
        if name is not None:
            yield details.get(name) or f"<{name}>"


def fill_command(template: str, details: Mapping[str, str]) -> str:
    """Fill a command like `fill`, but only with what is harmless in a shell; the rest stays `<name>`.

    Details come from logs and clusters, which others may have written: a host `x; reboot` must not become a
    command.
    """
    return fill(template, {name: value for name, value in details.items() if _PLAIN_WORD.fullmatch(value)})
