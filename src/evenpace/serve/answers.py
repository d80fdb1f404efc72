"""What the API answers with: the shapes that the OpenAPI document describes, and how they are filled.

Texts and labels are objects with `en` and `ko`; `?lang=` leaves the other one out. What a report does not say
is an empty text or list.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from evenpace.checks.catalogue import Check
from evenpace.checks.catalogue import Incident as Cited
from evenpace.library.catalogue import Result, Suggestion
from evenpace.library.graph import Graph
from evenpace.library.judges import Judge
from evenpace.library.records import FACETS, LANGUAGES, Incident, Kind, Scope, Verified
from evenpace.library.similar import Neighbour
from evenpace.terms import Term, UnknownTerm, term

Id = Annotated[str, Field(pattern=r"^IL-[0-9]{4}$", description="Id of a case.", examples=["IL-0025"])]
Count = Annotated[int, Field(ge=0, description="Number of cases.", examples=[12])]
Lift = Annotated[
    float, Field(ge=0, description="How many times as often as by chance (1 is chance).", examples=[2.4])
]
Facet = Annotated[str, Field(description="Name of a facet.", examples=["symptom"])]
Value = Annotated[str, Field(description="Value of the facet; a slug for terms.", examples=["nccl-error"])]
Counts = Annotated[
    dict[str, dict[str, int]],
    Field(description="facet → value → number of cases", examples=[{"scope": {"training": 3, "k8s": 1}}]),
]
Key = Annotated[str, Field(description="Facet and slug of a term.", examples=["symptom:hang"])]


class Answer(BaseModel):
    """Hold what all answers share: nothing that is not described goes out."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Refused(Answer):
    """Say in one line why the request was not answered."""

    detail: str = Field(description="What is wrong.", examples=["there is no case 'IL-9999'"])


class Words(Answer):
    """Hold a text in both languages, or only the one that was asked for."""

    en: str | None = Field(None, description="English", examples=["A job stopped"])
    ko: str | None = Field(None, description="Korean", examples=["작업이 멈췄다"])


class TermsByFacet(Answer):
    """Hold the slugs of a case's terms, the main one first."""

    cause: list[str] = Field(examples=[["link-fault"]])
    component: list[str] = Field(examples=[["nccl"]])
    symptom: list[str] = Field(examples=[["hang"]])
    factor: list[str] = Field(examples=[["no-health-check"]])


class SourceAnswer(Answer):
    """Point to a public report."""

    url: str = Field(examples=["https://example.org/report"])
    title: str = Field(examples=["Example, report"])


class TextAnswer(Answer):
    """Tell a case in one language; what the report does not say is empty."""

    title: str
    symptom: str = Field(description="What was seen.")
    trigger: str = Field(description="What set it off.")
    cause: str = Field(description="Why it happened.")
    detection: str = Field(description="How it was noticed.")
    actions: list[str] = Field(description="What was done.")
    follow_up: list[str] = Field(description="What was done afterwards, or is planned.")
    lesson: str = Field(description="What was learned.")


class CaseSummary(Answer):
    """Hold what a list shows of a case."""

    id: Id
    organisation: str = Field(examples=["Imbue"])
    year: int = Field(examples=[2024])
    scope: Scope
    kind: Kind
    verified: Verified = Field(
        description="How far the sources were read: opened (in full or the relevant part), excerpt (only the "
        "opening or abstract), seed (a published summary of the case)."
    )
    terms: TermsByFacet
    title: Words


class SimilarCase(Answer):
    """Hold a case that is alike, and the terms that it shares, rarest first."""

    case: CaseSummary
    score: float = Field(ge=0, le=1, description="1 where all terms are shared.", examples=[0.61])
    shared: list[TermName]


class TermName(Answer):
    """Name a term."""

    facet: Facet
    slug: Value
    label: Words


class JudgeAnswer(Answer):
    """Hold a fault that evenpace would have named, and the command that does."""

    slug: str = Field(description="Slug of the fault.", examples=["communication-hang"])
    by: str = Field(description="Command of evenpace.", examples=["run"])
    label: Words
    definition: Words


class CheckAnswer(Answer):
    """Hold a check of clusters: what holds where it passes, and what it says of the case."""

    id: str
    family: str
    title: Words
    why: Words


class CaseAnswer(CaseSummary):
    """Hold a case in full."""

    sources: list[SourceAnswer]
    also: list[Id] = Field(description="Ids of cases that were merged into this one.")
    en: TextAnswer | None = Field(None, description="The case in English.")
    ko: TextAnswer | None = Field(None, description="The case in Korean.")
    similar: list[SimilarCase] = Field(description="The closest cases, closest first.")
    judges: list[JudgeAnswer] = Field(description="What of evenpace would have caught the case.")
    checks: list[CheckAnswer] = Field(description="The checks of `evenpace audit` that cite the case.")


class SuggestionAnswer(Answer):
    """Hold a filter that narrows the answer to `count` cases."""

    facet: Facet
    value: Value
    label: Words
    count: Count
    lift: Lift


class CaseList(Answer):
    """Hold one page of the cases that match, and what belongs to all of them."""

    items: list[CaseSummary] = Field(description="Best first with words, newest first without.")
    total: Count
    page: int = Field(ge=1, examples=[1])
    per_page: int = Field(ge=1, le=100, examples=[20])
    counts: Counts
    recommended: list[SuggestionAnswer] = Field(description="Filters that the words of the query suggest.")
    frequent: list[SuggestionAnswer] = Field(description="The terms that most of the cases carry.")


class TermAnswer(TermName):
    """Hold a term of the vocabulary and how many cases carry it."""

    definition: Words = Field(description="What it is; not every term has a Korean definition.")
    count: Count


class TermList(Answer):
    """Hold the vocabulary."""

    items: list[TermAnswer] = Field(description="By facet, in the order of the vocabulary.")


class TermPage(TermAnswer):
    """Hold a term, the cases that carry it, and what of evenpace looks for it."""

    cases: list[CaseSummary] = Field(description="Newest first.")
    judges: list[JudgeAnswer]


class NodeAnswer(TermName):
    """Hold a term of the graph."""

    key: Key
    count: Count


class EdgeAnswer(Answer):
    """Say how many cases carry both terms."""

    one: Key
    other: Key
    count: Count
    lift: Lift


class GraphAnswer(Answer):
    """Hold the terms of the matching cases and which occur together, strongest first."""

    total: Count
    nodes: list[NodeAnswer]
    edges: list[EdgeAnswer]
    cases: list[CaseSummary] = Field(description="The matching cases, where they are few; else empty.")


class Stats(Answer):
    """Count the whole library."""

    total: Count
    verified: dict[str, int] = Field(examples=[{"opened": 150, "excerpt": 20, "seed": 6}])
    kind: dict[str, int] = Field(examples=[{"incident": 120, "known-issue": 30, "study": 26}])
    scope: dict[str, int] = Field(examples=[{"training": 100, "serving": 20}])
    year: dict[str, int] = Field(examples=[{"2024": 40, "2025": 60}])
    organisation: dict[str, int] = Field(examples=[{"Imbue": 1}])
    facets: Counts


def words(texts: dict[str, str], lang: str | None) -> Words:
    """Return texts by language, or only the one in `lang`; an empty text is left out."""
    return Words(**{one: text for one, text in texts.items() if text and lang in (None, one)})


def summary(incident: Incident, lang: str | None) -> CaseSummary:
    """Return what a list shows of a case."""
    return CaseSummary(**_summary(incident, lang))


def case(
    incident: Incident,
    near: Iterable[Neighbour],
    judges: Iterable[Judge],
    checks: Iterable[tuple[Check, Cited]],
    lang: str | None,
) -> CaseAnswer:
    """Return a case in full."""
    told: dict[str, Any] = {one: _text(incident, one) for one in LANGUAGES if lang in (None, one)}
    return CaseAnswer(
        **_summary(incident, lang),
        **told,
        sources=[SourceAnswer(url=one.url, title=one.title) for one in incident.sources],
        also=list(incident.also),
        similar=[
            SimilarCase(
                case=summary(one.incident, lang),
                score=one.score,
                shared=[TermName(**_name(shared, lang)) for shared in one.shared],
            )
            for one in near
        ],
        judges=[judge(one, lang) for one in judges],
        checks=[_check(one, cited, lang) for one, cited in checks],
    )


def _check(one: Check, cited: Cited, lang: str | None) -> CheckAnswer:
    title = {known: one.content.title.say(known, {}) for known in LANGUAGES}
    why = words({"en": cited.en, "ko": cited.ko}, lang)
    return CheckAnswer(id=one.id, family=one.family, title=words(title, lang), why=why)


def judge(one: Judge, lang: str | None) -> JudgeAnswer:
    """Return a judge."""
    return JudgeAnswer(
        slug=one.slug,
        by=one.by,
        label=words({known: one.label(known) for known in LANGUAGES}, lang),
        definition=words({known: one.definition(known) for known in LANGUAGES}, lang),
    )


def case_list(found: Result, page: int, per_page: int, lang: str | None) -> CaseList:
    """Return one page of an answer."""
    return CaseList(
        items=[summary(one, lang) for one in found.incidents],
        total=found.total,
        page=page,
        per_page=per_page,
        counts=found.counts,
        recommended=[_suggestion(one, lang) for one in found.recommended],
        frequent=[_suggestion(one, lang) for one in found.frequent],
    )


def term_answer(one: Term, count: int, lang: str | None) -> TermAnswer:
    """Return a term."""
    return TermAnswer(**_term(one, count, lang))


def term_page(one: Term, cases: Iterable[Incident], judges: Iterable[Judge], lang: str | None) -> TermPage:
    """Return a term with its cases."""
    carried = [summary(incident, lang) for incident in cases]
    looked_for = [judge(found, lang) for found in judges]
    return TermPage(**_term(one, len(carried), lang), cases=carried, judges=looked_for)


def graph_answer(found: Graph, lang: str | None) -> GraphAnswer:
    """Return a graph."""
    return GraphAnswer(
        total=found.total,
        nodes=[
            NodeAnswer(**_named(node.facet, node.slug, lang), key=node.key, count=node.count)
            for node in found.nodes
        ],
        edges=[
            EdgeAnswer(one=edge.one, other=edge.other, count=edge.count, lift=edge.lift)
            for edge in found.edges
        ],
        cases=[summary(one, lang) for one in found.cases],
    )


def _summary(incident: Incident, lang: str | None) -> dict[str, Any]:
    return {
        **{name: getattr(incident, name) for name in ("id", "organisation", "year", "scope", "kind")},
        "verified": incident.verified,
        "terms": TermsByFacet(**{facet: getattr(incident.terms, facet) for facet in FACETS}),
        "title": words({one: incident.text(one).title for one in LANGUAGES}, lang),
    }


def _text(incident: Incident, lang: str) -> TextAnswer:
    text = incident.text(lang)
    given: dict[str, Any] = {name: getattr(text, name) for name in TextAnswer.model_fields}
    return TextAnswer(**given)


def _suggestion(one: Suggestion, lang: str | None) -> SuggestionAnswer:
    label = _named(one.facet, one.value, lang)["label"]
    return SuggestionAnswer(facet=one.facet, value=one.value, label=label, count=one.count, lift=one.lift)


def _named(facet: str, slug: str, lang: str | None) -> dict[str, Any]:
    """Return the name of a term; a value that is no term, such as a year, is its own label."""
    try:
        return _name(term(facet, slug), lang)
    except UnknownTerm:
        return {"facet": facet, "slug": slug, "label": words(dict.fromkeys(LANGUAGES, slug), lang)}


def _name(one: Term, lang: str | None) -> dict[str, Any]:
    return {"facet": one.facet, "slug": one.slug, "label": words({"en": one.en, "ko": one.ko}, lang)}


def _term(one: Term, count: int, lang: str | None) -> dict[str, Any]:
    definition = words({"en": one.definition, "ko": one.definition_ko}, lang)
    return {**_name(one, lang), "definition": definition, "count": count}
