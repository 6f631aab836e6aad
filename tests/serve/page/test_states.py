"""What the page shows when something is missing, wrong or gone."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.serve.page.conftest import Files, Visits, serving

Keep = Callable[[Any, str], None]


def upload(page: Any, name: str, kind: str, content: bytes) -> str:
    page.set_input_files("#file", {"name": name, "mimeType": kind, "buffer": content})
    page.wait_for_selector(".failed")
    text: str = page.text_content(".failed")
    return text


def test_a_text_file_is_refused_in_words_and_the_next_picture_works(
    visit: Visits, drawn_three: Any, keep: Keep
) -> None:
    visit.tolerate("415", "422")
    page = visit()
    assert "Choose a PNG" in upload(page, "notes.txt", "text/plain", b"not a picture")
    assert page.get_attribute(".failed", "data-status") == "415"
    keep(page, "error-light")
    page.set_input_files("#file", drawn_three)
    page.wait_for_selector("a.hit")
    page.wait_for_selector(".walk .said")
    assert page.locator(".failed").count() == 0


def test_a_damaged_picture_is_explained(visit: Visits, drawn_three: Any) -> None:
    visit.tolerate("422")
    text = upload(visit(), "half.png", "image/png", drawn_three["buffer"][:80])
    assert "cannot be read" in text


def test_a_picture_that_is_too_large_is_explained(visit: Visits, bare_server: str) -> None:
    visit.tolerate("413", "ERR_CONNECTION", "409")
    page = visit(home=bare_server)
    assert "too large" in upload(page, "large.png", "image/png", bytes(1_000_000))


def test_an_item_that_is_not_there_is_said(visit: Visits) -> None:
    visit.tolerate("404")
    page = visit("item=99999")
    page.wait_for_selector(".failed")
    assert "no such item" in page.text_content(".failed")


def test_a_busy_server_is_not_asked_again_before_it_wants(visit: Visits, keep: Keep) -> None:
    visit.tolerate("429")
    page = visit()
    busy = {"status": 429, "headers": {"Retry-After": "2"}, "json": {"error": "Too many requests: wait 2 seconds."}}
    page.route("**/search", lambda route: route.fulfill(**busy))
    page.click("#samples a")
    button = page.locator(".failed button")
    button.wait_for()
    assert button.is_disabled()
    assert "wait 2 seconds" in page.text_content(".failed")
    keep(page, "busy-light")
    page.unroute("**/search")
    button.click()  # waits until it may be pressed
    page.wait_for_selector("a.hit")


def test_a_method_without_a_walk_shows_its_code_and_why(visit: Visits, bare_server: str, keep: Keep) -> None:
    visit.tolerate("409")
    page = visit("item=3", home=bare_server)
    page.wait_for_selector(".still .remark")
    assert "only DRLH walks" in page.text_content(".still")
    assert page.locator(".still .bit").count() == 16
    assert page.locator("a.hit").count() == 20
    assert page.locator("a.hit .identicon").count() == 20  # no pictures: patterns of codes
    assert "--data" in page.text_content(".hits .remark")
    page.wait_for_function("() => document.querySelectorAll('#samples svg.identicon').length === 12")
    keep(page, "no-walk-no-pictures-light")


def test_an_empty_index_and_a_server_that_goes_and_comes_back(
    visit: Visits, files: Files, tmp_path: Path, keep: Keep
) -> None:
    visit.tolerate("ERR_", "409")
    with serving(tmp_path / "empty.log", *files.of("itq", "empty")) as home:
        page = visit(home=home)
        page.wait_for_selector(".state code")
        assert "The index is empty" in page.text_content("#panel-search")
        page.click("#tab-map")
        page.wait_for_selector("#panel-map .state")
        keep(page, "empty-light")
    page.click("#tab-methods")
    page.wait_for_selector("#banner strong")
    assert "does not answer" in page.text_content("#banner")
    keep(page, "unreachable-light")
    port = home.rstrip("/").rsplit(":", 1)[1]
    with serving(tmp_path / "again.log", *files.of("itq"), "--port", port):
        page.wait_for_selector("#samples a")  # it came back without a click
        page.wait_for_function("() => !document.querySelector('#banner').textContent")
        page.click("#tab-search")
        page.click("#samples a")
        page.wait_for_selector("a.hit")


def test_an_answer_that_is_left_or_breaks_off_is_not_taken_for_an_empty_one(visit: Visits) -> None:
    asked = """async (name) => {
        const { ask } = await import("./page/api.js");
        window.fetch = async () => ({ ok: true, json: () => Promise.reject(new DOMException("gone", name)) });
        return ask("walk/7").then(() => "taken", (error) => `${error.name} ${error.status}`);
    }"""
    page = visit()
    page.wait_for_selector("#samples a")
    assert page.evaluate(asked, "AbortError").startswith("AbortError")
    assert page.evaluate(asked, "NetworkError") == "Error 0"
