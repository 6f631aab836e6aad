"""The map: looking, clicking, the lasso, and the same by keyboard."""

import math
import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from tests.serve.conftest import N_ITEMS
from tests.serve.page.conftest import MAP_PATIENCE, PLACES, Visits, place

Keep = Callable[[Any, str], None]


def open_map(visit: Visits, **options: Any) -> tuple[Any, list[dict[str, Any]]]:
    page = visit("tab=map", **options)
    page.wait_for_selector("canvas", timeout=MAP_PATIENCE)
    points = page.evaluate(PLACES)
    assert len(points) == N_ITEMS
    return page, points


def room_around(point: dict[str, Any], points: list[dict[str, Any]]) -> float:
    return min(far_from(point, one) for one in points if one is not point)


def far_from(point: dict[str, Any], other: dict[str, Any]) -> float:
    return math.dist((point["x"], point["y"]), (other["x"], other["y"]))


def widest_gap(points: list[dict[str, Any]]) -> float:
    across: list[float] = sorted(point["x"] for point in points)
    _, middle = max((after - before, (after + before) / 2) for before, after in pairwise(across))
    return middle


def number_in(text: str) -> str:
    """The item of "item 12" or "#item=12"."""
    found = re.search(r"item[ =](\d+)", text)
    assert found is not None
    return found[1]


def test_a_point_shows_its_picture_and_a_click_searches_from_it(visit: Visits, keep: Keep) -> None:
    page, points = open_map(visit)
    page.mouse.move(*place(page, points[5]))
    page.wait_for_selector(".hint img")
    number = number_in(page.text_content(".hint"))
    keep(page, "map-light")
    page.mouse.click(*place(page, points[5]))
    page.wait_for_selector("a.hit")
    assert page.url.endswith(f"#item={number}")
    assert page.get_attribute("#tab-search", "aria-selected") == "true"


def test_the_lasso_gathers_what_lies_inside_and_counts_its_classes(visit: Visits, keep: Keep) -> None:
    page, points = open_map(visit)
    page.click("text=Lasso")
    right = widest_gap(points)  # no point lies near this line, so none is doubtful
    corners = [{"x": x, "y": y} for x, y in ((-0.02, -0.02), (right, -0.02), (right, 1.02), (-0.02, 1.02))]
    page.mouse.move(*place(page, corners[0]))
    page.mouse.down()
    for corner in (*corners[1:], corners[0]):
        page.mouse.move(*place(page, corner), steps=4)
    page.mouse.up()
    inside = [point for point in points if point["x"] < right]
    page.wait_for_selector(".counts")
    assert page.text_content(".side h3") == f"{len(inside)} items selected"
    wanted = {label: sum(point["label"] == label for point in inside) for label in {one["label"] for one in inside}}
    rows = page.locator(".counts li").all()
    assert {row.locator("span").first.text_content(): int(row.locator("b").text_content()) for row in rows} == wanted
    keep(page, "lasso-light")
    page.click("text=Search from the most central")
    page.wait_for_selector("a.hit")
    assert int(number_in(page.url)) in {point["id"] for point in inside}


def test_the_map_zooms_and_moves_and_shows_all_again(visit: Visits) -> None:
    page, points = open_map(visit)
    shown = "document.querySelector('canvas').toDataURL()"
    page.wait_for_timeout(200)
    before = page.evaluate(shown)
    lonely = max(points, key=lambda point: room_around(point, points))
    x, y = place(page, lonely)
    page.mouse.move(x, y)
    page.mouse.wheel(0, -600)
    page.wait_for_timeout(200)
    page.mouse.move(x + 2, y)
    assert f"item {lonely['id']}" in page.text_content(".hint")  # what lies below the pointer stays there
    page.mouse.down()
    page.mouse.move(x + 60, y + 40, steps=3)
    page.mouse.up()
    assert page.get_attribute("#tab-map", "aria-selected") == "true"  # a drag is no click
    page.click("text=Select all in view")
    assert int(page.text_content(".side h3").split()[0]) < N_ITEMS
    page.click("text=Clear")
    page.click("[aria-label='Show all']")
    page.mouse.move(1, 1)
    page.wait_for_timeout(200)
    assert page.evaluate(shown) == before


def test_the_map_works_by_keyboard_alone(visit: Visits) -> None:
    page, _ = open_map(visit)
    page.focus("canvas")
    page.keyboard.press("ArrowRight")
    first = page.text_content(".hint")
    page.keyboard.press("ArrowRight")
    page.wait_for_function("(first) => document.querySelector('.hint').textContent !== first", arg=first)
    number = number_in(page.text_content(".hint"))
    assert f"item {number}" in page.text_content("#live")
    page.keyboard.press("+")
    page.keyboard.press("Enter")
    page.wait_for_selector("a.hit")
    assert page.url.endswith(f"#item={number}")


def test_a_class_can_be_shown_alone(visit: Visits) -> None:
    page, points = open_map(visit)
    page.click(".classes [data-class='3']")
    assert page.get_attribute(".classes [data-class='3']", "aria-pressed") == "true"
    threes = [point for point in points if point["label"] == "3"]
    others = [point for point in points if point["label"] != "3"]
    other = max(others, key=lambda point: min(far_from(point, three) for three in threes))
    page.mouse.move(*place(page, other))
    page.wait_for_timeout(150)
    assert page.is_hidden(".hint")
