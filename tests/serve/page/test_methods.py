"""The same query under two methods."""

from collections.abc import Callable
from typing import Any

from tests.serve.page.conftest import Visits

Keep = Callable[[Any, str], None]


def test_methods_stand_side_by_side_with_their_precision(visit: Visits, keep: Keep) -> None:
    page = visit("tab=methods&item=3&k=10")
    page.wait_for_selector(".score")
    assert page.locator(".method h3").all_text_contents() == ["drlh", "itq"]
    for method in page.locator(".method").all():
        right = method.locator(".hit.good").count()
        assert method.locator(".hit").count() == 10
        assert method.locator(".score strong").text_content() == f"{10 * right} %"
        assert "precision@10" in method.locator(".score").text_content()
    boxes = [method.bounding_box() for method in page.locator(".method").all()]
    assert boxes[0]["y"] == boxes[1]["y"]
    keep(page, "methods-light")


def test_a_hit_of_a_method_is_the_next_query_and_search_shows_it_too(visit: Visits) -> None:
    page = visit("tab=methods&item=3")
    page.wait_for_selector(".score")
    hit = page.locator("[data-method=itq] a.hit").nth(2)
    number = hit.get_attribute("data-id")
    hit.click()
    page.wait_for_function(
        f"() => document.querySelector('#panel-methods .asked')?.textContent.includes('item {number}')"
    )
    page.click("#tab-search")
    page.wait_for_selector("#panel-search a.hit")
    assert page.url.endswith(f"#item={number}")


def test_an_upload_has_a_precision_once_its_class_is_told(visit: Visits, drawn_three: Any) -> None:
    page = visit("tab=methods")
    page.wait_for_selector(".state")
    page.set_input_files("#file", drawn_three)
    page.wait_for_selector(".score")
    assert page.locator(".score strong").all_text_contents() == ["–", "–"]
    page.select_option("#truth", "3")
    page.wait_for_selector(".bar")
    assert all("%" in text for text in page.locator(".score strong").all_text_contents())


def test_a_single_method_says_how_to_add_another(visit: Visits, bare_server: str) -> None:
    page = visit("tab=methods&item=3", home=bare_server)
    page.wait_for_selector(".state")
    assert "--compare" in page.text_content(".state")
