"""Waiting requests become one batch; no request gets the answer or the error of another."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from tests.serve.conftest import Made

from drlh.core.errors import UserError
from drlh.model import Model
from drlh.serve.batching import Batcher, Encoded, Inference
from drlh.serve.responses import Refusal


def test_what_comes_while_the_thread_works_is_one_batch_in_order() -> None:
    free, sizes = threading.Event(), []

    def work(items: list[int]) -> list[int]:
        free.wait(10)
        return [2 * item for item in items]

    async def ask() -> list[int]:
        with ThreadPoolExecutor(1) as thread:
            batcher = Batcher(work, thread, max_queue=100, max_batch=8, observe=sizes.append)
            first = asyncio.create_task(batcher(0))
            await asyncio.sleep(0)
            others = [asyncio.create_task(batcher(number)) for number in range(1, 18)]
            await asyncio.sleep(0.01)
            free.set()
            return list(await asyncio.gather(first, *others))

    assert asyncio.run(ask()) == [2 * number for number in range(18)]
    assert sizes == [1, 8, 8, 1]


def test_a_fault_reaches_all_of_its_batch_and_none_after() -> None:
    def work(items: list[int]) -> list[int]:
        if -1 in items:
            raise ValueError("no")
        return items

    async def ask() -> list[object]:
        with ThreadPoolExecutor(1) as thread:
            batcher = Batcher(work, thread, max_queue=100)
            bad = await asyncio.gather(*(batcher(number) for number in (5, -1, 6)), return_exceptions=True)
            return [*bad, await batcher(7)]

    found = asyncio.run(ask())
    assert [type(one) for one in found[:3]] == [ValueError] * 3
    assert found[3] == 7


def test_a_full_line_is_refused_and_who_goes_away_costs_nothing() -> None:
    free, worked = threading.Event(), []

    def work(items: list[int]) -> list[int]:
        free.wait(10)
        worked.extend(items)
        return items

    async def ask() -> None:
        with ThreadPoolExecutor(1) as thread:
            batcher = Batcher(work, thread, max_queue=2)
            first = asyncio.create_task(batcher(0))
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            second, third = asyncio.create_task(batcher(1)), asyncio.create_task(batcher(2))
            await asyncio.sleep(0)
            with pytest.raises(Refusal) as refused:
                await batcher(3)
            assert refused.value.status == 503
            second.cancel()
            await asyncio.sleep(0)
            free.set()
            assert [await first, await third] == [0, 2]

    asyncio.run(ask())
    assert worked == [0, 2]


def test_pictures_and_features_share_a_pass_and_keep_their_order(made: Made) -> None:
    model, others = Model.load(made.model()), made.others
    assert others.images is not None
    assert others.features is not None
    pictures, features = [others.images.read(row) for row in range(40)], others.features
    sizes: list[int] = []

    async def ask() -> list[Encoded]:
        with ThreadPoolExecutor(1) as thread, ThreadPoolExecutor(2) as decoders:
            inference = Inference(model, thread, decoders, max_queue=100, observe=sizes.append)
            return await asyncio.gather(
                *(
                    inference.encode_features(features[row].tolist())
                    if row % 3
                    else inference.encode_picture(pictures[row])
                    for row in range(40)
                )
            )

    encoded = asyncio.run(ask())
    assert sum(sizes) == 40
    assert len(sizes) < 40
    np.testing.assert_array_equal(np.concatenate([one.packed for one in encoded]), model.encode(features))
    np.testing.assert_allclose(np.stack([one.features for one in encoded]), features, rtol=1e-6)


def test_features_that_the_model_does_not_take_are_refused(made: Made) -> None:
    with ThreadPoolExecutor(1) as thread:
        inference = Inference(Model.load(made.model()), thread, thread, max_queue=9, observe=lambda size: None)
        for features, sentence in (([1.0], "got \\(1, 1\\)"), ([2e9] * 64, "between -1e\\+09 and 1e\\+09")):
            with pytest.raises(UserError, match=sentence):
                inference.feature_row(features)
