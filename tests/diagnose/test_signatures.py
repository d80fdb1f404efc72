"""Each signature is proved by its own examples, and by what its near misses are not."""

from __future__ import annotations

from string import Formatter

import pytest

from evenpace.diagnose.identity import canonical_gpu
from evenpace.diagnose.lines import read_lines
from evenpace.diagnose.matching import Matcher
from evenpace.diagnose.model import Sighting
from evenpace.diagnose.signature import ROLES, Signature, signatures
from evenpace.terms import facets
from evenpace.terms.bilingual import Text

ALL = sorted(signatures().values(), key=lambda signature: signature.id)
WITH_PATTERNS = [signature for signature in ALL if signature.content.match]


def sightings(signature: Signature, text: str) -> list[Sighting]:
    return Matcher({signature.id: signature}).sightings(read_lines("example.log", text))


@pytest.mark.parametrize("signature", WITH_PATTERNS, ids=lambda signature: signature.id)
def test_signature_is_seen_in_its_examples(signature: Signature) -> None:
    assert signature.content.example, "give one at least"
    for example in signature.content.example:
        seen = sightings(signature, example.text)
        assert seen, example.text
        for field, value in example.culprit.items():
            assert plain(field, getattr(seen[0].culprit, field)) == plain(field, value)


def plain(field: str, value: object) -> object:
    values = value if isinstance(value, list | tuple) else [value]
    return sorted(canonical_gpu(str(one)) if field == "gpu" else str(one) for one in values)


@pytest.mark.parametrize("signature", WITH_PATTERNS, ids=lambda signature: signature.id)
def test_signature_is_not_seen_in_its_near_misses(signature: Signature) -> None:
    assert signature.content.near_miss, "give one at least"
    for miss in signature.content.near_miss:
        assert not sightings(signature, miss.text), miss.text


@pytest.mark.parametrize("signature", ALL, ids=lambda signature: signature.id)
def test_signature_is_complete(signature: Signature) -> None:
    content = signature.content
    assert content.match or content.judge
    known = facets()
    assert signature.fault in known["fault"]
    for facet in ("symptom", "component", "cause", "factor"):
        assert [slug for slug in getattr(content.terms, facet) if slug not in known[facet]] == []
    if signature.role in ("cause", "hint"):
        assert content.advice
        assert content.explanation
        assert content.sources
        assert content.terms.symptom or content.terms.component
    if signature.role != "noise":
        texts = [content.title, *content.missing]
        texts += [content.explanation] if content.explanation else []
        for text in (*texts, *(Text(step.en, step.ko) for step in content.advice)):
            assert text.en.strip()
            assert any("가" <= letter <= "힣" for letter in text.ko), text.ko
            assert names(text.en) == names(text.ko)
    assert 0 < content.certainty <= 1


def names(template: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(template) if name is not None}


@pytest.mark.parametrize("signature", ALL, ids=lambda signature: signature.id)
def test_what_a_signature_explains_is_known(signature: Signature) -> None:
    known = {name for other in ALL for name in (other.id, other.fault, *other.content.tags)} | set(ROLES)
    assert [name for name in signature.content.explains if name not in known] == []
