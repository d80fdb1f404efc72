"""One page of an answer, for every page that lists cases."""

from __future__ import annotations

from starlette.exceptions import HTTPException

from evenpace.library.catalogue import PAGE, Library, Query, Result
from evenpace.serve.state import State
from evenpace.terms import say


def paged(library: Library, query: Query, state: State) -> tuple[Result, int]:
    """Return the page that `state` asks for, and how many there are; a page beyond them is a 404."""
    result = library.search(query, offset=(state.page - 1) * PAGE)
    pages = max(1, -(-result.total // PAGE))
    if state.page > pages:
        raise HTTPException(404, say("serve-no-such-page", state.lang, page=state.page, pages=pages))
    return result, pages
