"""What the API refuses, as Kubernetes words it."""

from __future__ import annotations

from typing import Any

_REASONS = {
    400: "BadRequest",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    409: "Conflict",
    410: "Expired",
    413: "RequestEntityTooLarge",
    415: "UnsupportedMediaType",
    422: "Invalid",
    429: "TooManyRequests",
}


class Refused(Exception):
    """Carry an HTTP code and the message of a refused request; `reason` where the code has several."""

    def __init__(self, code: int, message: str, reason: str = "", **details: Any) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason or _REASONS[code]
        self.details = details

    def status(self) -> dict[str, Any]:
        """Return the Status object that a client gets."""
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": str(self),
            "reason": self.reason,
            "details": self.details,
            "code": self.code,
        }


def unknown_path() -> Refused:
    """Return what answers a path that is not served."""
    return Refused(404, "the server could not find the requested resource")
