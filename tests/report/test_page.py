from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import UndefinedError

from evenpace.report.page import harmless, templates


@given(
    st.recursive(
        st.text() | st.integers() | st.none(), lambda part: st.lists(part) | st.dictionaries(st.text(), part)
    )
)
def test_data_stays_data(data: object) -> None:
    text = str(harmless(data))
    assert not set(text) & set("<>&")
    assert json.loads(text) == data


def test_templates_escape_and_miss_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.html.j2").write_text("{{ one }}{{ two }}")
    template = templates(tmp_path).get_template("a.html.j2")
    assert template.render(one="<b>", two="") == "&lt;b&gt;"
    with pytest.raises(UndefinedError):
        template.render(one="")
