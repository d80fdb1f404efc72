"""Logs that are sent to the site: the answer, its links, its limits, and that nothing stays."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import re
import threading
import time
from base64 import b64decode
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.library.cases import incident
from tests.serve.client import Client

from evenpace.diagnose import sources
from evenpace.library.catalogue import Library
from evenpace.serve import desk
from evenpace.serve.app import create_app
from evenpace.serve.receiving import MOST_FILES, MOST_PASTED

XID = b"[ 1234.500000] NVRM: Xid (PCI:0000:3b:00): 79, pid=4242, GPU has fallen off the bus.\n"
CALM = b"step 1 loss 2.5\nstep 2 loss 2.4\n"
HOSTILE = "<script>alert(1)</script>'\"&`\x1b]0;x\x07\u202e{{7*7}}.log"
SAVED = re.compile(r'href="data:([\w/]+);charset=utf-8;base64,([\w+/=]+)" download="([\w.-]+)"')


def logs(*named: tuple[str, bytes]) -> list[tuple[str, tuple[str, bytes]]]:
    return [("logs", one) for one in named]


def send(site: Client, *named: tuple[str, bytes], path: str = "/api/diagnose", **data: str) -> httpx.Response:
    return site.request("POST", path, files=logs(*named) or [("x", (None, b""))], data=data)


def held() -> int:
    """Count the nameless files that this process holds."""
    found = 0
    for one in Path("/proc/self/fd").iterdir():
        try:
            found += "(deleted)" in os.readlink(one)  # noqa: PTH115  a file without a name
        except OSError:
            continue
    return found


@pytest.fixture(autouse=True)
def nothing_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Require that each test leaves neither files nor open ones."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = held()
    yield
    until = time.monotonic() + 10
    while held() > before and time.monotonic() < until:
        time.sleep(0.01)
    assert held() <= before  # of an earlier test's, one may have been collected meanwhile
    assert list(tmp_path.iterdir()) == []


def test_the_culprit_is_named_and_linked(site: Client) -> None:
    answer = send(site, ("dmesg-node042.log", XID), ("rank3.log", CALM), path="/diagnose?lang=en")
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    assert "GPU 0000:3b:00 on node042" in answer.text
    assert "--exclude=node042" in answer.text
    (fault,) = re.findall(r'class="tag">.*?<a href="([^"]+)">', answer.text)
    for link in [unescape(fault), *re.findall(r'href="(/library/IL-\d{4})"', answer.text)]:
        assert site.get(link).status_code == 200
    assert "IL-" in site.get(unescape(fault)).text
    assert "serve-" not in answer.text


def test_the_answer_can_be_saved_from_the_page(site: Client) -> None:
    text = send(site, ("dmesg-node042.log", XID), path="/diagnose?lang=ko").text
    saved = {name: (kind, b64decode(content).decode()) for kind, content, name in SAVED.findall(text)}
    assert set(saved) == {f"evenpace-diagnosis.{ending}" for ending in ("json", "md", "html")}
    found = json.loads(saved["evenpace-diagnosis.json"][1])["findings"][0]
    assert found["subject"]["node"] == "node042"
    assert "node042" in saved["evenpace-diagnosis.md"][1]
    assert saved["evenpace-diagnosis.html"][1].startswith("<!doctype html>")


def test_the_api_answers_as_the_command_does(site: Client) -> None:
    answer = send(site, ("logs/dmesg-node042.log.gz", gzip.compress(XID)), ("rank3.log", CALM))
    page = answer.json()
    assert page["schema"] == 1
    assert page["findings"][0]["subject"]["gpu"] == "0000:3b:00"
    assert page["findings"][0]["evidence"][0]["source"] == "logs/dmesg-node042.log.gz"
    assert page["read"]["files"] == ["logs/dmesg-node042.log.gz", "rank3.log"]
    korean = send(site, ("x.log", XID), path="/api/diagnose?lang=ko").json()
    assert re.search("[가-힣]", korean["findings"][0]["summary"])


@pytest.mark.parametrize(("path", "status"), [("/api/diagnose?lang=xx", 422), ("/diagnose?lang=xx", 400)])
def test_an_unknown_language(site: Client, path: str, status: int) -> None:
    assert send(site, ("a.log", XID), path=path).status_code == status


def test_pasted_text_is_a_log_too(site: Client) -> None:
    answer = send(site, text=XID.decode().replace("\n", "\r\n") * 2)
    assert answer.json()["read"] == {"files": ["pasted text"], "bytes": 2 * len(XID), "lines": 2}
    both = send(site, ("a.log", CALM), text=XID.decode()).json()
    assert sorted(both["read"]["files"]) == ["a.log", "pasted text"]


def test_nothing_wrong_is_said_as_such(site: Client) -> None:
    answer = send(site, ("train.log", CALM))
    assert (answer.status_code, answer.json()["findings"]) == (200, [])


@pytest.mark.parametrize("lang", ["en", "ko"])
@pytest.mark.parametrize(
    ("named", "said"),
    [
        ([], {"en": "No log was sent", "ko": "로그가 없습니다"}),
        ([("", b"")], {"en": "No log was sent", "ko": "로그가 없습니다"}),
        ([("a.log", b"")], {"en": "Empty: 1 (a.log)", "ko": "빈 파일: 1개(a.log)"}),
        ([("a.bin", bytes(range(32)) * 99)], {"en": "not text: 1 (a.bin)", "ko": "제외: 1개(a.bin)"}),
    ],
)
def test_what_is_no_log(site: Client, named: Any, said: dict[str, str], lang: str) -> None:
    api = send(site, *named, path=f"/api/diagnose?lang={lang}")
    page = send(site, *named, path=f"/diagnose?lang={lang}")
    assert (api.status_code, page.status_code) == (400, 400)
    assert said[lang] in api.json()["detail"]
    assert said[lang] in page.text
    assert '<form id="logs"' in page.text


def test_a_part_that_cannot_be_read_is_told(site: Client) -> None:
    page = send(site, ("a.log", CALM), ("b.log", b""), ("c.pt", b"\0\1\2\3" * 99)).json()
    assert page["skipped"] == {"empty": ["b.log"], "binary": ["c.pt"]}


def test_hostile_names_are_only_shown(site: Client) -> None:
    page = send(site, (HOSTILE, XID), ("../../../etc/passwd", CALM), ("-", CALM), path="/diagnose?lang=en")
    assert page.status_code == 200
    assert "<script>alert" not in page.text
    assert "\x1b" not in page.text
    assert "\u202e" not in page.text
    assert "{{7*7}}" in page.text
    names = send(site, ("-", CALM), ("-", CALM), ("/dev/stdin", CALM), ("/etc/passwd", CALM)).json()["read"]
    assert names["files"] == ["/dev/stdin", "/etc/passwd", "log", "(2)/log"]
    assert names["bytes"] == 4 * len(CALM)


def test_hostile_logs_are_only_shown(site: Client) -> None:
    line = b"RuntimeError: CUDA error: <img src=x onerror=alert(1)> \x1b[31m</pre><script>1</script>\n"
    page = send(site, ("a.log", XID + line), path="/diagnose?lang=en").text
    assert "<img" not in page
    assert page.count("<script") == 0


def test_a_bomb_is_cut_off(site: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "FREE_RATIO", 1 << 22)
    page = send(site, ("bomb.gz", gzip.compress(XID + b"\n" * (1 << 26))), ("a.log", CALM)).json()
    assert page["skipped"]["damaged"] == ["bomb.gz"]
    assert page["read"]["bytes"] < 1 << 26


def test_too_many_files(site: Client) -> None:
    most = [(f"{number}.log", CALM) for number in range(MOST_FILES)]
    assert len(send(site, *most).json()["read"]["files"]) == MOST_FILES
    for path in ("/api/diagnose", "/diagnose?lang=en"):
        refused = send(site, *most, ("one.log", CALM), path=path)
        assert refused.status_code == 413
        assert "evenpace diagnose" in refused.text


def test_too_much_pasted(site: Client) -> None:
    assert send(site, text="a" * (MOST_PASTED + 1)).status_code == 413


def test_a_large_body_is_refused(site: Client) -> None:
    for path in ("/api/diagnose", "/diagnose"):
        refused = send(site, ("a.log", b"x" * (64 << 20)), path=path)
        assert refused.status_code == 413
        assert "evenpace diagnose" in refused.text


@pytest.mark.parametrize(
    ("kind", "body", "status"),
    [
        (None, b"", 415),
        ("text/plain", XID, 415),
        ("application/x-www-form-urlencoded", b"text=x", 415),
        ("multipart/form-data", b"", 400),
        ("multipart/form-data; boundary=x; charset=punycode", b"--x--", 415),
        ("multipart/form-data; boundary=x", b"", 400),
        ("multipart/form-data; boundary=x", b"garbage", 400),
        ("multipart/form-data; boundary=x", b"--x\r\n\r\n\r\n--x--\r\n", 400),
        ("multipart/form-data; boundary=x", b'--x\r\nContent-Disposition: form-data; name="logs"', 400),
        ("multipart/form-data; boundary=x", b"--x--\r\n", 400),
    ],
)
def test_damaged_forms(site: Client, kind: str | None, body: bytes, status: int) -> None:
    headers = {"content-type": kind} if kind else {}
    answer = site.request("POST", "/api/diagnose", content=body, headers=headers)
    assert (answer.status_code, list(answer.json())) == (status, ["detail"])


def test_a_browsers_form_without_a_file(site: Client) -> None:
    part = b'--x\r\nContent-Disposition: form-data; name="logs"; filename=""\r\n\r\n\r\n'
    text = b'--x\r\nContent-Disposition: form-data; name="text"\r\n\r\n' + XID + b"\r\n--x--\r\n"
    headers = {"content-type": "multipart/form-data; boundary=x"}
    pasted = site.request("POST", "/api/diagnose", content=part + part + text, headers=headers)
    assert pasted.json()["read"]["files"] == ["pasted text"]
    nothing = site.request("POST", "/api/diagnose", content=part + b"--x--\r\n", headers=headers)
    assert nothing.status_code == 400


def test_no_log_is_passed_over(site: Client) -> None:
    text = site.request("POST", "/api/diagnose", files=logs(("a.log", CALM)), data={"logs": XID.decode()})
    assert (text.status_code, "logs=@FILE" in text.json()["detail"]) == (422, True)
    other = site.request("POST", "/api/diagnose", files={"file": ("a.log", XID), "text": ("b.log", CALM)})
    assert other.json()["read"]["files"] == ["a.log", "b.log"]


def test_another_sites_page_gets_nothing(site: Client) -> None:
    headers = {"Origin": "https://evil.example"}
    answer = site.request("POST", "/api/diagnose", files=logs(("a.log", XID)), headers=headers)
    assert answer.status_code == 403


def test_links_lead_to_the_library_that_is_served() -> None:
    small = Client(create_app(Library([incident(1)])))
    page = send(small, ("dmesg-node042.log", XID), path="/diagnose?lang=en").text
    assert set(re.findall(r"IL-\d{4}", page)) <= {"IL-0001"}


def test_no_room_is_told(site: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("starlette.datastructures.UploadFile.write", full)
    answer = send(site, ("a.log", XID))
    assert answer.status_code == 507
    assert "No space left" in answer.json()["detail"]


class Slow:
    """Stand for the reading of logs: it waits until it may go on."""

    def __init__(self) -> None:
        self.go, self.begun, self.at_once, self.most = threading.Event(), threading.Event(), 0, 0

    def __call__(self, inputs: Any, *, jobs: int, progress: Any) -> Any:
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        self.begun.set()
        assert self.go.wait(30)
        self.at_once -= 1
        progress(1, 1)
        return READ(inputs, jobs=jobs)


READ = desk.read


def test_one_is_read_at_a_time_and_the_site_still_answers(
    real: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = Slow()
    monkeypatch.setattr(desk, "read", slow)

    async def crowd() -> list[httpx.Response]:
        transport = httpx.ASGITransport(create_app(real))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            sent = [
                asyncio.create_task(client.post("/api/diagnose", files=logs(("a.log", XID))))
                for _ in range(desk.MOST_AT_ONCE)
            ]
            await asyncio.to_thread(slow.begun.wait, 30)
            turned = await client.post("/api/diagnose", files=logs(("a.log", XID)))
            page = await client.post("/diagnose?lang=en", files=logs(("a.log", XID)))
            shown = await client.get("/library")
            slow.go.set()
            return [turned, page, shown, *await asyncio.gather(*sent)]

    turned, page, shown, *answers = asyncio.run(crowd())
    assert (turned.status_code, page.status_code, shown.status_code) == (503, 503, 200)
    assert turned.headers["retry-after"] == page.headers["retry-after"]
    assert [one.status_code for one in answers] == [200] * desk.MOST_AT_ONCE
    assert slow.most == 1


BODY = (
    b'--x\r\nContent-Disposition: form-data; name="logs"; filename="a.log"\r\n\r\n' + XID + b"\r\n--x--\r\n"
)


async def gone(app: Any, whole: bool, begun: threading.Event | None = None) -> list[Any]:
    """Ask as a client that goes away: within its body, or when its logs are being read."""
    sent: list[Any] = []
    given = iter([{"type": "http.request", "body": BODY if whole else BODY[:90], "more_body": not whole}])

    async def receive() -> Any:
        if (message := next(given, None)) is not None:
            return message
        if begun is not None:
            await asyncio.to_thread(begun.wait, 30)
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    headers = {"host": "localhost", "content-type": "multipart/form-data; boundary=x"}
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/api/diagnose",
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    await asyncio.wait_for(app(scope, receive, send), 30)
    return sent


def test_a_client_that_goes_while_it_sends(real: Library) -> None:
    assert asyncio.run(gone(create_app(real), whole=False))[0]["status"] == 400


def test_a_client_that_goes_while_its_logs_are_read(real: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = Slow()
    monkeypatch.setattr(desk, "read", slow)
    app = create_app(real)
    assert asyncio.run(gone(app, whole=True, begun=slow.begun))[0]["status"] == 400
    assert held() > 0  # the thread has them still
    slow.go.set()
    monkeypatch.setattr(desk, "read", READ)
    assert send(Client(app), ("a.log", XID)).status_code == 200


def test_a_client_that_goes_while_it_waits(real: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = Slow()
    monkeypatch.setattr(desk, "read", slow)
    app = create_app(real)

    async def two() -> int:
        first = asyncio.create_task(gone(app, whole=True, begun=slow.go))
        await asyncio.to_thread(slow.begun.wait, 30)
        await gone(app, whole=True)
        slow.go.set()
        await first
        return slow.most

    assert asyncio.run(two()) == 1
