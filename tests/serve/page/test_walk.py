"""Playing a walk: the grid, the numbers and the words say the same at every step."""

from typing import Any

from tests.serve.page.conftest import Visits

CODE = "[...document.querySelectorAll('.walk .bit')].map((bit) => bit.textContent).join('')"


def open_walk(visit: Visits, **options: Any) -> tuple[Any, list[dict[str, Any]]]:
    """A page with a walk of several flips, and the steps the server gave."""
    page = visit("item=3", **options)
    page.wait_for_selector(".walk .said")
    walk = page.evaluate("fetch('walk/3').then((answer) => answer.json())")
    assert len(walk["steps"]) > 3
    return page, walk["steps"]


def test_each_step_shows_its_code_and_marks_the_flipped_bit(visit: Visits) -> None:
    page, steps = open_walk(visit)
    page.click("[data-do=first]")
    for number, step in enumerate(steps):
        assert page.get_attribute(".walk", "data-step") == str(number)
        assert page.evaluate(CODE) == step["bits"]
        titles = page.locator(".bit.flipped").evaluate_all("all => all.map((bit) => bit.title)")
        assert titles == [f"bit {place}" for place in step["flipped"]]
        shown = {int(entry.get_attribute("data-class")): int(entry.locator("b").text_content())
                 for entry in page.locator(".walk .legend li[data-class]").all()}  # fmt: skip
        assert shown == dict(enumerate(step["distances"]))
        page.click("[data-do=next]")
    assert page.get_attribute(".walk", "data-step") == str(len(steps) - 1)  # there is no step after the last


def test_the_stop_is_explained_by_its_value_and_the_best_flips(visit: Visits) -> None:
    page, steps = open_walk(visit)
    page.click("[data-do=last]")
    said = page.text_content(".said")
    *flips, stop = steps[-1]["q"]
    assert max(flips) < stop == 0
    best = flips.index(max(flips))
    assert f"Stopped by itself after {len(steps) - 1} steps because Q(stop) = 0 was above" in said
    assert f"above the best flip (bit {best}, −" in said


def test_a_walk_plays_pauses_and_goes_on(visit: Visits) -> None:
    page, steps = open_walk(visit, reduced_motion="no-preference")
    page.select_option(".controls select", "4")
    page.wait_for_selector("[data-do=pause]")  # it began by itself
    page.wait_for_function("() => Number(document.querySelector('.walk').dataset.step) >= 1")
    page.click("[data-do=pause]")
    held = page.get_attribute(".walk", "data-step")
    page.wait_for_timeout(500)
    assert page.get_attribute(".walk", "data-step") == held
    page.click("[data-do=play]")
    page.wait_for_function(f"() => document.querySelector('.walk').dataset.step === '{len(steps) - 1}'")
    page.wait_for_selector("[data-do=play]")
    assert "Stopped by itself" in page.text_content("#live")
    page.click("[data-do=play]")  # from the beginning again
    page.wait_for_function("() => Number(document.querySelector('.walk').dataset.step) < 2")


def test_the_slider_and_the_chart_move_the_walk(visit: Visits) -> None:
    page, steps = open_walk(visit)
    page.fill(".controls input[type=range]", "2")
    assert page.evaluate(CODE) == steps[2]["bits"]
    page.locator(".chart").first.scroll_into_view_if_needed()
    box = page.locator(".chart").first.bounding_box()
    page.mouse.move(box["x"] + 44, box["y"] + 60)
    page.mouse.down()
    assert page.evaluate(CODE) == steps[0]["bits"]
    page.mouse.move(box["x"] + box["width"] - 14, box["y"] + 60, steps=4)
    page.mouse.up()
    assert page.evaluate(CODE) == steps[-1]["bits"]


def test_space_and_arrows_drive_the_walk(visit: Visits) -> None:
    page, steps = open_walk(visit)
    last = len(steps) - 1
    page.keyboard.press("ArrowLeft")
    assert page.get_attribute(".walk", "data-step") == str(last - 1)
    page.keyboard.press("ArrowRight")
    assert page.get_attribute(".walk", "data-step") == str(last)
    page.keyboard.press("Space")
    page.wait_for_selector("[data-do=pause]")
    page.keyboard.press("Space")
    page.wait_for_selector("[data-do=play]")


def test_less_motion_means_no_walk_that_plays_by_itself(visit: Visits) -> None:
    page, steps = open_walk(visit, reduced_motion="reduce")
    assert page.get_attribute(".walk", "data-step") == str(len(steps) - 1)
    page.wait_for_timeout(900)
    assert page.get_attribute(".walk", "data-step") == str(len(steps) - 1)
    assert page.evaluate("document.getAnimations().length") == 0
