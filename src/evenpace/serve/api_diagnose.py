"""The diagnosis of logs in the JSON API: what is sent, and what comes back."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import ClientDisconnect

from evenpace.findings import Evidence, Finding
from evenpace.report.answer.json import to_json
from evenpace.serve import answers
from evenpace.serve.api import REFUSALS, PlainErrors
from evenpace.serve.desk import Desk
from evenpace.serve.receiving import LOGS, MOST_FILES, TEXT, Turned

_BODY: dict[str, Any] = {
    "required": True,
    "content": {
        "multipart/form-data": {
            "schema": {
                "type": "object",
                "additionalProperties": False,
                "description": "Logs as files, or text, or both.",
                "properties": {
                    LOGS: {
                        "type": "array",
                        "items": {"type": "string", "format": "binary"},
                        "minItems": 1,
                        "maxItems": MOST_FILES,
                        "description": "Logs: text, also as .gz and .zst. Their names may tell host or rank.",
                    },
                    TEXT: {"type": "string", "description": "A part of a log, as text."},
                },
            }
        }
    },
}
_REFUSALS: dict[int | str, dict[str, Any]] = REFUSALS | {
    400: {"model": answers.Refused, "description": "Nothing was sent that can be read as a log."},
    403: {"model": answers.Refused, "description": "The request comes from another site's page."},
    411: {"model": answers.Refused, "description": "The request does not say how long its body is."},
    413: {"model": answers.Refused, "description": "More than 64 MB, or more than 512 files."},
    415: {"model": answers.Refused, "description": "The body is no multipart form."},
    503: {
        "model": answers.Refused,
        "description": "Other logs are being read; Retry-After says when to ask.",
    },
    507: {"model": answers.Refused, "description": "There is no room to put the logs down for reading."},
}
AGAIN = {"Retry-After": "5"}


class Read(BaseModel):
    """Say what was read."""

    model_config = ConfigDict(extra="forbid")
    files: list[str] = Field(description="Names of the logs.")
    bytes: int = Field(ge=0, description="Bytes of logs, unpacked.")
    lines: int = Field(ge=0, description="Lines of logs.")


class Diagnosis(BaseModel):
    """Hold what the logs say: the envelope of findings, as `evenpace diagnose --format json` gives it."""

    model_config = ConfigDict(extra="forbid")
    version: Literal[1] = Field(alias="schema", description="Version of the findings' form.")
    findings: list[Finding] = Field(description="The answer first; empty where nothing is wrong.")
    unusual: list[Evidence] = Field(description="Lines to look at where nothing was found.")
    read: Read
    skipped: dict[str, list[str]] = Field(description="reason → names of what was left out.")


def router(desk: Desk) -> APIRouter:
    """Return the route of the diagnosis."""
    api = APIRouter(prefix="/api", route_class=PlainErrors, responses=_REFUSALS, tags=["diagnosis"])

    @api.post("/diagnose", response_model=Diagnosis, openapi_extra={"requestBody": _BODY})
    async def diagnose_logs(
        request: Request,
        lang: Annotated[Literal["en", "ko"], Query(description="Language of the answer.")] = "en",
    ) -> Response:
        """Say from logs what failed, who is to blame, how sure that is, and what to do now.

        They stay on this machine and are forgotten when the answer is sent:
        `curl -F logs=@slurm-88.out -F logs=@dmesg.gz http://localhost:8710/api/diagnose`
        """
        try:
            text = await desk.answer(request, lang, to_json)
        except Turned as refusal:
            headers = AGAIN if refusal.status == 503 else None
            return JSONResponse({"detail": refusal.text(lang)}, refusal.status, headers)
        except ClientDisconnect:
            return Response(status_code=400)
        return Response(text, media_type="application/json", headers={"Cache-Control": "no-store"})

    return api
