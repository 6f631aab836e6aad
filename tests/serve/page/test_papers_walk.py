"""The walk of the paper's agent: what it expected of every action, the flips it saw, and why it ended."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.serve.page.conftest import Visits

Keep = Callable[[Any, str], None]
Answer = dict[str, Any]

# What the strip of past flips shows: [bits, flipped back, undone] of each place that is not empty.
PAST = """[...document.querySelectorAll('.past li:not(.none)')].map((place) => {
  const bits = (kind) => [...place.querySelectorAll(`span${kind}`)].map((bit) => Number(bit.textContent));
  return [bits(''), bits('.back'), bits('.undone')];
})"""


def open_walk(visit: Visits, home: str, wanted: Callable[[Answer], bool], **options: Any) -> tuple[Any, Answer]:
    """A page with the first walk of the kind that is wanted, and what the server said of it."""
    page = visit(home=home, **options)
    for number in range(240):
        walk: Answer = page.evaluate(f"fetch('walk/{number}').then((answer) => answer.json())")
        if wanted(walk):
            break
    else:
        raise AssertionError("no item walks like that")
    page.goto(f"{home}#item={number}")
    page.wait_for_selector(".walk .said")
    return page, walk


def stops(walk: Answer) -> bool:
    return walk["stopped"] and len(walk["steps"]) > 2


def to_and_fro(walk: Answer) -> bool:
    """A bit is flipped back, and the agent does not stop."""
    flips = [bit for step in walk["steps"] for bit in step["flipped"]]
    return not walk["stopped"] and len(set(flips)) < len(flips)


def shown(value: float) -> str:
    """A value of Q as the page writes it."""
    size = abs(value)
    return ("−" if value < 0 else "+") + (f"{size:.2g}" if size < 0.0995 else f"{size:.2f}")


def test_every_action_has_its_value_and_the_chosen_one_is_marked(visit: Visits, paper_server: str) -> None:
    page, walk = open_walk(visit, paper_server, stops)
    page.focus(".charted summary")
    page.keyboard.press("Space")  # opens the numbers and does not play the walk
    page.wait_for_selector(".numbers li")
    assert page.locator("[data-do=pause]").count() == 0
    page.click("[data-do=first]")
    for step in walk["steps"]:
        names = [*(f"bit {bit}" for bit in range(16)), "stop"]
        found = page.locator(".numbers li").evaluate_all(
            "all => all.map((one) => [one.firstChild.textContent, one.lastChild.textContent])"
        )
        assert [name for name, _ in found] == names
        values = [float(value.replace("−", "-")) for _, value in found]
        assert values == pytest.approx(step["q"], abs=0.0051)
        assert page.text_content(".numbers .taken").startswith(names[step["action"]])
        assert page.text_content(".actions text.taken") == names[step["action"]].removeprefix("bit ")
        assert page.locator(".actions rect.flip").count() == 16
        assert page.locator(".actions rect.stop").count() == 1
        page.click("[data-do=next]")


def test_the_strip_shows_what_the_agent_sees_and_which_flips_were_undone(visit: Visits, paper_server: str) -> None:
    page, walk = open_walk(visit, paper_server, to_and_fro)
    page.click("[data-do=first]")
    assert page.locator(".past li.none").count() == 10
    known: list[dict[int, str]] = []  # of each flip so far, what became of its bit
    for step in walk["steps"]:
        for bit in step["flipped"]:
            before = next((flip for flip in known if flip.get(bit) == ""), None)
            if before is not None:
                before[bit] = "undone"
            known.append({bit: "back" if before is not None else ""})
        wanted = [
            [list(flip), *([bit for bit, fate in flip.items() if fate == kind] for kind in ("back", "undone"))]
            for flip in reversed(known[-10:])
        ]
        assert [bits for bits, _, _ in wanted] == step["history"]
        assert page.evaluate(PAST) == wanted
        page.click("[data-do=next]")
    assert "flipped back" in page.text_content(".undone-words") or not any(back for _, back, _ in wanted)


def test_a_stop_is_told_with_its_value_and_the_best_flips(visit: Visits, paper_server: str, keep: Keep) -> None:
    page, walk = open_walk(visit, paper_server, stops)
    *flips, stop = walk["steps"][-1]["q"]
    best = flips.index(max(flips))
    distance, name = walk["nearest"]["distance"], walk["nearest"]["class"]
    assert page.text_content(".said").endswith(
        f"Stopped by itself after {len(walk['steps']) - 1} steps because Q(stop) = {shown(stop)} was above "
        f"the best flip (bit {best}, {shown(flips[best])}), at distance {distance} from the codeword of “{name}”."
    )
    assert "a stop earned +5" in page.text_content(".charts .note")
    keep(page, "papers-walk")


def test_the_step_limit_is_told_with_what_a_stop_was_worth(visit: Visits, paper_server: str, keep: Keep) -> None:
    phone = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True, "color_scheme": "dark"}
    page, walk = open_walk(visit, paper_server, to_and_fro, **phone)
    asked = [step["q"] for step in walk["steps"][:-1]]
    highest = max(q[-1] for q in asked)
    if highest < 0:
        why = f"every stop looked like a loss (Q(stop) = {shown(highest)} at best)"
    else:
        last, stop = max(asked[-1][:-1]), asked[-1][-1]
        why = f"a flip always looked better (at the last one {shown(last)}, Q(stop) = {shown(stop)})"
    assert f"Walked to the step limit (16) without stopping: {why}." in page.text_content(".said")
    assert page.text_content(".chosen").startswith("Nothing is asked here any more")
    page.click(".charted summary")
    for step in (0, len(walk["steps"]) - 1):
        page.fill(".controls input[type=range]", str(step))
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
    keep(page, "papers-walk-narrow-dark")


def test_an_agent_without_history_says_so(visit: Visits) -> None:
    page = visit("item=3")
    page.wait_for_selector(".walk .said")
    assert not page.is_visible(".past")
    assert "It sees no history of its flips" in page.text_content(".history .note")
