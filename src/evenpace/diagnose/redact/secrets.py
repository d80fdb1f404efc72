"""Find secrets in text: keys and tokens by their form, and whatever is assigned to a name that says so."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from evenpace.diagnose.redact.names import SECRET, is_address
from evenpace.diagnose.redact.search import Found, compiled, findall, sub

_FORMS = (
    r"\bhf_[A-Za-z0-9]{8,}",
    r"\bgh[pousr]_[A-Za-z0-9_]{8,}",
    r"\bgithub_pat_[A-Za-z0-9_]{8,}",
    r"\bglpat-[A-Za-z0-9_\-]{8,}",
    r"\b(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{12,}",
    r"\bsk-[A-Za-z0-9_\-]{16,}",
    r"\bxox[abeoprs]-[A-Za-z0-9\-]{8,}",
    r"\bAIza[A-Za-z0-9_\-]{20,}",
    r"\bya29\.[A-Za-z0-9_\-]{16,}",
    r"\beyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{8,}(?:\.[A-Za-z0-9_\-]*)?",
    r"\b(?:nvapi|pypi|npm|dckr_pat|gsk|r8|pul|lin_api|shpat|dop_v1|sgp|rpa|wandb_v1|tgp_v1)[_\-][A-Za-z0-9_\-]{16,}",
    r"\bSHA256:[A-Za-z0-9+/]{43}=?",
    r"\b(?:ssh-rsa|ssh-ed25519|ssh-dss|ecdsa-sha2-nistp\d{3}) [A-Za-z0-9+/]{40,}={0,2}",
)
_NAMED = (
    r"(?i)(?:password|passwd|passphrase|passwort|secret|secret_?key|secret_?access_?key|api_?key|apikey|api-key|x-api-key"
    r"|access_?key(?:_?id)?|access-key|account_?key|private_?key|encryption_?key|signing_?key|master_?key|credentials?"
    r"|sas_?token|_pwd|_pass|_auth|world_?info)['\"]?\s{0,20}(?:[=:]|\s=>)\s{0,20}(?:u|b)?['\"]?"
    r"([^\s'\",;&)}\]<>]{2,})",
    r"(?i)--?[a-z_\-]{0,40}(?:password|passwd|secret|token|api[_-]key)['\"]?[ ,]{1,3}['\"]?"
    r"([A-Za-z0-9_\-./+=~@!]{8,})",
    r"(?i)(?:[a-z0-9]_?|\b)token['\"]?\s{0,20}[=:]\s{0,20}(?:u|b)?['\"]?([A-Za-z0-9_\-./+=~]{8,})",
    r"(?i)\b(?:bearer|basic|authorization:?|negotiate)['\"]?[ :]{1,3}['\"]?([A-Za-z0-9_\-./+=~]{8,})",
    r"\b[A-Z][A-Z0-9_]{0,60}(?:_KEY|_TOKEN|_SECRET|_PASSWORD|_PASSWD|_PASS|_CREDENTIALS|_PAT)['\"]?\s{0,3}[=:]\s{0,3}['\"]?"
    r"([^\s'\",;&)}\]<>]{2,})",
    r"(?i)\bwandb[:_ ]{1,3}(?:login|api|key)[^\n]{0,30}?[ =:]([0-9a-f]{40})\b",
    r"\b(?:machine|login) \S+ password (\S+)",
    r"://[^\s:/@'\"]*:([^\s/@'\"]+)@",
    r"(?i)\b(?:set-)?cookie: ?(\S{4,})",
)
_GATE = compiled(
    r"(?i)hf_|gh[pousr]_|github_pat|glpat-|AKIA|ASIA|AROA|AIDA|sk-|xox|AIza|ya29|eyJ|nvapi|pypi|npm_|dckr|gsk_|r8_|pul-"
    r"|lin_api|shpat|dop_v1|sgp_|rpa_|wandb|tgp_|SHA256:|ssh-|ecdsa|pass|secret|key|credential|token|_pwd|_auth"
    r"|world_?info|bearer|basic|authorization|negotiate|://|cookie|_pat|PRIVATE KEY"
)
_BEGIN, _END = "-----BEGIN ", "-----END "
_PRIVATE = re.compile(r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----")
_NUMBER = re.compile(
    r"(?:0x)?[0-9a-f]{1,8}$|[\d.,:e+\-]{1,24}$|(?:true|false|none|null|yes|no|auto|default|required)$", re.I
)
_ENV = re.compile(r"[A-Za-z_][\w.]{0,100}\(|\$\{?\w|\*{2,}|<|\.{3}")
_WORD = re.compile(r"[a-z_.\-]{1,40}$|[A-Z][a-z]{1,30}$")

_ANY_FORM = compiled("|".join(_FORMS))
_NAMED_PATTERNS = tuple(compiled(pattern) for pattern in _NAMED)
_SURE = (0, 7)  # of _NAMED: whatever stands there is one, even a plain word


def replace(text: str, secret: Callable[[], str]) -> str:
    """Return text with the secrets in it replaced by what `secret` gives."""
    if not _GATE.search(text.encode("utf-8", "replace")):
        return text
    text = sub(_ANY_FORM, lambda _: secret(), text)
    for number, pattern in enumerate(_NAMED_PATTERNS):
        text = sub(pattern, lambda found, sure=number in _SURE: _named(found, sure, secret), text)  # type: ignore[misc]
    return _without_keys(text, secret) if _BEGIN in text else text


def values(text: str) -> Iterator[str]:
    """Yield the secrets in text that are long and odd enough to be replaced wherever they stand."""
    data = text.encode("utf-8", "replace")
    if not _GATE.search(data):
        return
    yield from findall(_ANY_FORM, data)
    for number, pattern in enumerate(_NAMED_PATTERNS):
        for found in findall(pattern, data):
            value = found if isinstance(found, str) else "".join(found)
            if len(value) >= 8 and not _WORD.match(value) and _is_secret(value, number in _SURE):
                yield value.rstrip(".,")


def _named(found: Found, sure: bool, secret: Callable[[], str]) -> str:
    whole = found[0]
    value = found[1]
    if not value or not _is_secret(value, sure):
        return whole
    at = whole.rindex(value)
    return whole[:at] + secret() + whole[at + len(value) :]


def _is_secret(value: str, sure: bool) -> bool:
    if is_address(value):  # which has a pseudonym of its own
        return False
    if value == SECRET or value in SECRET or (_NUMBER.match(value) and len(value) < 9) or _ENV.match(value):
        return False
    return sure or not _WORD.match(value)


def _without_keys(text: str, secret: Callable[[], str]) -> str:
    """Replace the lines of private keys; they stay as many lines."""
    lines = text.split("\n")
    inside = False
    for at, line in enumerate(lines):
        if not inside and _PRIVATE.search(line):
            inside = True
            if _END in line:
                lines[at] = line[: line.index(_BEGIN)] + secret() + line[line.rindex(_END) :]
                inside = False
            continue
        if inside and _END in line:
            inside = False
        elif inside:
            lines[at] = secret() if line.strip() else line
    return "\n".join(lines)
