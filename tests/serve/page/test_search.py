"""Choosing a query, what it finds, and going on from there."""

import base64
import re
from collections.abc import Callable
from typing import Any

from tests.serve.page.conftest import Visits

Keep = Callable[[Any, str], None]

HAND_OVER = """([kind, data]) => {
  const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
  const carried = new DataTransfer();
  carried.items.add(new File([bytes], "three.png", { type: "image/png" }));
  const event = kind === "paste"
    ? new ClipboardEvent("paste", { clipboardData: carried, bubbles: true })
    : new DragEvent("drop", { dataTransfer: carried, bubbles: true, cancelable: true });
  document.body.dispatchEvent(event);
}"""


def test_the_page_is_usable_without_waiting_for_the_map(visit: Visits, keep: Keep) -> None:
    page = visit()
    page.wait_for_selector("#samples a img")
    ready = page.evaluate("performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd")
    asked = page.evaluate("performance.getEntriesByType('resource').map((one) => new URL(one.name).pathname)")
    assert 0 < ready < 10_000  # milliseconds, however busy the machine
    assert "/map" not in asked
    assert page.locator("#samples a").count() == 12
    assert "240 items" in page.text_content("#about")
    keep(page, "start-light")


def test_an_uploaded_picture_shows_its_walk_and_its_neighbours(visit: Visits, drawn_three: Any, keep: Keep) -> None:
    page = visit()
    page.set_input_files("#file", drawn_three)
    page.wait_for_selector("a.hit")
    assert page.locator("a.hit").count() == 20
    page.wait_for_selector(".walk .said")
    assert page.locator(".walk .bit").count() == 16
    assert "three.png" in page.text_content(".asked")
    distances = [int(text) for text in page.locator("a.hit .distance").all_text_contents()]
    assert distances == sorted(distances)
    assert "20 items found" in page.text_content("#live")
    keep(page, "search-light")


def test_pictures_can_be_dropped_and_pasted(visit: Visits, drawn_three: Any) -> None:
    page = visit()
    data = base64.b64encode(drawn_three["buffer"]).decode()
    found: list[str] = []
    for kind in ("drop", "paste"):
        page.evaluate(HAND_OVER, [kind, data])
        page.wait_for_url(re.compile(rf"#upload={len(found) + 1}$"))
        page.wait_for_selector("a.hit")
        found.append(page.locator("a.hit").first.get_attribute("data-id"))
    assert found[0] == found[1]


def test_marks_below_a_strip_are_the_bits_that_differ(visit: Visits) -> None:
    page = visit("item=7")
    page.wait_for_selector("a.hit")
    hits = page.evaluate("fetch('search', {method: 'POST', headers: {'Content-Type': 'application/json'},"
                         " body: JSON.stringify({id: 7, k: 20})}).then((answer) => answer.json())")["hits"]  # fmt: skip
    marks = page.locator("a.hit .strip .differs").evaluate_all("all => all.map((one) => one.getAttribute('d'))")
    assert [path.count("M") for path in marks] == [len(hit["differs"]) for hit in hits]
    assert [len(hit["differs"]) for hit in hits] == [hit["distance"] for hit in hits]


def test_a_click_searches_from_a_hit_and_back_returns(visit: Visits) -> None:
    page = visit()
    page.click("#samples li:nth-child(4) a")
    page.wait_for_selector("a.hit")
    before = page.locator("a.hit").evaluate_all("all => all.map((one) => one.dataset.id)")
    hit = page.locator("a.hit:not(.own)").nth(3)
    number = hit.get_attribute("data-id")
    hit.click()
    page.wait_for_function(f"() => document.querySelector('.asked')?.textContent.includes('item {number}')")
    assert page.url.endswith(f"#item={number}")
    page.go_back()
    again = "(ids) => [...document.querySelectorAll('a.hit')].map((one) => one.dataset.id).join() === ids"
    page.wait_for_function(again, arg=",".join(before))
    page.go_back()
    page.wait_for_selector(".state .cube")


def test_a_class_and_a_number_narrow_the_hits_and_stay_in_the_address(visit: Visits) -> None:
    page = visit("item=7")
    page.wait_for_selector("a.hit")
    page.select_option("#label", "3")
    page.wait_for_function("() => document.querySelector('.results .faint').textContent.includes('of class “3”')")
    assert set(page.locator("a.hit strong").all_text_contents()) == {"3"}
    page.fill("#k", "5")
    page.press("#k", "Enter")
    page.wait_for_function("() => document.querySelectorAll('a.hit').length === 5")
    assert page.url.endswith("#item=7&k=5&label=3")
    page.reload()
    page.wait_for_selector("a.hit")
    assert page.locator("a.hit").count() == 5
    assert page.input_value("#label") == "3"


def test_an_upload_that_a_reload_forgot_is_explained(visit: Visits) -> None:
    page = visit("upload=1")
    page.wait_for_selector(".state")
    assert "not here any more" in page.text_content(".state")
