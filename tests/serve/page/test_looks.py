"""Themes, contrast, narrow screens, fingers and keys."""

import math
import re
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.serve.conftest import N_ITEMS
from tests.serve.page.conftest import MAP_PATIENCE, PLACES, Visits, place

Keep = Callable[[Any, str], None]

# Text on what it stands on, as elements of the page: WCAG AA wants 4.5 to 1.
TEXTS = ["body", "#about", "#tab-search", "#tab-map", ".drop strong", ".drop .faint", ".said", ".bit.one",
         ".bit:not(.one)", ".legend li.nearest b", ".legend li:not(.nearest) b", ".results > .faint", ".caption strong",
         ".distance", ".badge", ".asked-code code", "[data-do=play]", ".chart text", ".actions text",
         ".chosen", ".note", ".note strong"]  # fmt: skip
COLOURS = """(selector) => {
  const element = document.querySelector(selector);
  const seen = (one) => {
    const found = getComputedStyle(one).backgroundColor;
    return found !== "rgba(0, 0, 0, 0)" || !one.parentElement ? found : seen(one.parentElement);
  };
  const own = getComputedStyle(element);
  return [element instanceof SVGElement ? own.fill : own.color, seen(element)];
}"""
# How red-, green- and blue-blind eyes see linear RGB (Machado, Oliveira and Fernandes 2009).
BLIND = {
    "red": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "green": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "blue": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
TO_CONES = np.array([[0.4122, 0.5363, 0.0514], [0.2119, 0.6807, 0.1074], [0.0883, 0.2817, 0.6300]])
TO_OKLAB = np.array([[0.2105, 0.7936, -0.0041], [1.9780, -2.4286, 0.4506], [0.0259, 0.7828, -0.8087]])

Rgb = NDArray[np.float64]


def linear(text: str) -> Rgb:
    value = np.array([float(part) for part in re.findall(r"[\d.]+", text)[:3]]) / 255
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def contrast(one: Rgb, other: Rgb) -> float:
    lights = sorted(float(np.dot([0.2126, 0.7152, 0.0722], colour)) + 0.05 for colour in (one, other))
    return lights[1] / lights[0]


def oklab(colour: Rgb) -> Rgb:
    found: Rgb = TO_OKLAB @ np.cbrt(TO_CONES @ np.clip(colour, 0, 1))
    return found


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_and_classes_can_be_told_apart_by_colour_blind_eyes(visit: Visits, scheme: str) -> None:
    page = visit("item=3", color_scheme=scheme)
    page.wait_for_selector("a.hit")
    page.wait_for_selector(".legend li.nearest")
    weak = {}
    for selector in TEXTS:
        text, ground = map(linear, page.evaluate(COLOURS, selector))
        if contrast(text, ground) < 4.5:
            weak[selector] = contrast(text, ground)
    assert weak == {}
    script = "async () => { const found = await import('./page/palette.js');" \
             " return [...Array(10).keys()].map((one) => found.plainColour(found.colourName(one))); }"  # fmt: skip
    classes = [linear(colour) for colour in page.evaluate(script)]
    _, card = page.evaluate(COLOURS, ".walk")
    assert min(contrast(colour, linear(card)) for colour in classes) >= 3
    for matrix in BLIND.values():
        seen = [oklab(np.array(matrix) @ colour) for colour in classes]
        assert min(float(np.linalg.norm(one - other)) for one, other in combinations(seen, 2)) > 0.06


def test_dark_follows_the_system_and_the_toggle_is_remembered(visit: Visits, keep: Keep) -> None:
    page = visit("item=3", color_scheme="dark")
    ground = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(ground)
    assert linear(dark).max() < 0.05
    page.wait_for_selector("a.hit")
    page.wait_for_selector(".walk .said")
    keep(page, "search-dark")
    for tab, ready in (("map", "canvas"), ("methods", ".score")):
        page.click(f"#tab-{tab}")
        page.wait_for_selector(ready, timeout=MAP_PATIENCE)
        page.wait_for_timeout(200)
        keep(page, f"{tab}-dark")
    page.click("#theme")
    light = page.evaluate(ground)
    assert linear(light).min() > 0.9
    page.reload()
    assert page.evaluate(ground) == light


def test_a_phone_scrolls_only_downwards_and_fingers_hit(visit: Visits, drawn_three: Any, keep: Keep) -> None:
    page = visit(viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    page.set_input_files("#file", drawn_three)
    for tab, ready in (("search", "a.hit"), ("map", "canvas"), ("methods", ".score")):
        page.click(f"#tab-{tab}")
        page.wait_for_selector(ready, timeout=MAP_PATIENCE)
        if tab == "search":
            page.wait_for_selector(".walk .said")
        page.wait_for_timeout(200)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        small = page.evaluate("""[...document.querySelectorAll('button, select, a:not(.skip), input:not([type=file])')]
          .filter((one) => one.checkVisibility())
          .map((one) => [one.outerHTML.slice(0, 80), one.getBoundingClientRect()])
          .filter(([, box]) => box.width < 44 || box.height < 44).map(([text]) => text)""")
        assert small == []
        keep(page, f"{tab}-narrow")


def test_a_finger_looks_first_and_searches_second(visit: Visits) -> None:
    page = visit("tab=map", viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    page.wait_for_selector("canvas", timeout=MAP_PATIENCE)
    point = page.evaluate(PLACES)[9]
    page.locator("canvas").scroll_into_view_if_needed()
    at = place(page, point)
    page.touchscreen.tap(*at)
    page.wait_for_selector(".hint img")
    assert "tab=map" in page.url
    page.touchscreen.tap(*at)
    page.wait_for_selector("a.hit")


def test_two_fingers_zoom_the_map(visit: Visits) -> None:
    page = visit("tab=map", viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    page.wait_for_selector("canvas", timeout=MAP_PATIENCE)
    # Around a point: the middle of the map may be empty.
    x, y = place(page, min(page.evaluate(PLACES), key=lambda point: math.dist((point["x"], point["y"]), (0.5, 0.5))))
    hands = page.context.new_cdp_session(page)
    for kind, apart in (("touchStart", 20), ("touchMove", 60), ("touchMove", 120)):
        fingers = [{"x": x - apart, "y": y, "id": 0}, {"x": x + apart, "y": y, "id": 1}]
        hands.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": fingers})
    hands.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    page.click("text=Select all in view")  # a tap so soon after two fingers may get lost in a busy browser
    page.wait_for_function("() => /^[0-9]+ /.test(document.querySelector('.side h3').textContent)")
    assert int(page.text_content(".side h3").split()[0]) < N_ITEMS


def test_everything_can_be_reached_by_keys(visit: Visits) -> None:
    page = visit()
    page.wait_for_selector("#samples a")
    page.focus("#tab-search")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.id") == "tab-map"
    assert page.is_visible("#panel-map")
    page.keyboard.press("End")
    assert page.is_visible("#panel-methods")
    page.keyboard.press("ArrowRight")  # round to the first
    assert page.evaluate("document.activeElement.id") == "tab-search"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "file"
    page.keyboard.press("Tab")
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"  # the focus is seen
    page.keyboard.press("Enter")
    page.wait_for_selector("a.hit")
    page.wait_for_selector(".walk .said")
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('a.hit:not(.own)')"):
            break
    number = page.evaluate("document.activeElement.dataset.id")
    page.keyboard.press("Enter")
    page.wait_for_function(f"() => document.querySelector('.asked').textContent.includes('item {number}')")
    assert page.evaluate("document.activeElement.matches('.asked')")  # and not lost with the old hits
    page.wait_for_selector(".walk .said")
    step = int(page.get_attribute(".walk", "data-step"))
    page.keyboard.press("ArrowLeft")
    assert page.get_attribute(".walk", "data-step") == str(step - 1)
