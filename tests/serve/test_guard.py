"""Host names, rates, slow senders, headers."""

import socket
import time

import httpx
import pytest
from tests.serve.conftest import Client

from drlh.serve.settings import Limits


def test_a_service_of_this_machine_answers_only_to_its_own_names(client: Client) -> None:
    asked = client(allowed_hosts=("Photos.example",))
    for host in ("localhost:8000", "127.0.0.1", "[::1]:8000", "photos.example", "PHOTOS.EXAMPLE:443"):
        assert asked.get("/healthz", headers={"Host": host}).status_code == 200
    for host in ("evil.example", "127.0.0.1.evil.example", "localhost.evil.example", ""):
        answer = asked.get("/healthz", headers={"Host": host})
        assert answer.status_code == 400
        assert "host name" in answer.json()["error"]
        assert "--" not in answer.json()["error"]


def test_a_service_of_a_network_answers_to_any_name_unless_told_some(client: Client) -> None:
    evil = {"Host": "any.example"}
    assert client(host="0.0.0.0").get("/healthz", headers=evil).status_code == 200
    assert client(host="0.0.0.0", allowed_hosts=("a.example",)).get("/healthz", headers=evil).status_code == 400


def test_an_address_that_asks_too_often_has_to_wait_and_others_do_not(client: Client) -> None:
    asked = client(limits=Limits(rate=2.0))
    one, other = {"X-Forwarded-For": "203.0.113.5"}, {"X-Forwarded-For": "2001:db8::1"}
    codes = [asked.get("/healthz", headers=one).status_code for _ in range(12)]
    assert codes[:8] == [200] * 8
    assert 429 in codes
    refused = asked.get("/healthz", headers=one)
    assert refused.status_code == 429
    assert int(refused.headers["retry-after"]) >= 1
    assert "wait" in refused.json()["error"]
    assert asked.get("/healthz", headers=other).status_code == 200
    assert {asked.get("/healthz").status_code for _ in range(30)} == {200}  # this machine's own
    until = time.monotonic() + 3
    while asked.get("/healthz", headers=one).status_code == 429:  # who keeps on asking still gets the share allowed
        assert time.monotonic() < until


def test_every_answer_carries_the_headers_that_keep_browsers_safe(reading: httpx.Client) -> None:
    for answer in (reading.get("/"), reading.get("/stats"), reading.get("/nothing"), reading.get("/items/5/thumbnail")):
        assert "default-src 'self'" in answer.headers["content-security-policy"]
        assert "unsafe" not in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert "access-control-allow-origin" not in answer.headers
        assert "server" not in answer.headers


@pytest.mark.parametrize(("kind", "begun"), [("application/json", "{"), ("multipart/form-data; boundary=x", "--x")])
def test_a_body_that_does_not_arrive_is_not_waited_for_long(client: Client, kind: str, begun: str) -> None:
    asked = client(limits=Limits(body_timeout=0.3))
    url = asked.base_url
    with socket.create_connection((url.host, url.port or 80), timeout=10) as sender:
        head = f"POST /search HTTP/1.1\r\nHost: {url.host}\r\nContent-Type: {kind}\r\nContent-Length: 500"
        sender.sendall(f"{head}\r\n\r\n{begun}".encode())
        assert sender.recv(1000).startswith(b"HTTP/1.1 408 ")
