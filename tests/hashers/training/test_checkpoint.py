from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file
from torch import nn

from drlh.core.errors import UserError
from drlh.hashers.training.checkpoint import (
    FILE,
    build_from_arrays,
    load_checkpoint,
    load_module,
    load_optimizer,
    module_arrays,
    optimizer_arrays,
    save_checkpoint,
)

ARRAYS = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.array(7), "c.d": np.zeros((0, 2), np.int8)}


def test_a_checkpoint_comes_back_as_it_was_saved(tmp_path: Path) -> None:
    save_checkpoint(tmp_path / "new" / "place", 3, "mine", ARRAYS)
    done, arrays = load_checkpoint(tmp_path / "new" / "place", "mine")
    assert done == 3
    assert arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(arrays[name], array)
        assert arrays[name].dtype == array.dtype


def test_a_later_epoch_takes_the_place_of_the_earlier_and_leaves_nothing_else(tmp_path: Path) -> None:
    for epoch in (1, 2):
        save_checkpoint(tmp_path, epoch, "mine", {"a": np.full(3, epoch)})
    done, arrays = load_checkpoint(tmp_path, "mine")
    assert (done, arrays["a"].tolist()) == (2, [2, 2, 2])
    assert [path.name for path in tmp_path.iterdir()] == [FILE]


def test_arrays_that_are_views_are_saved_as_they_look(tmp_path: Path) -> None:
    matrix = np.arange(12.0).reshape(3, 4)
    save_checkpoint(tmp_path, 1, "mine", {"turned": matrix.T, "cut": matrix[:, ::2]})
    _, arrays = load_checkpoint(tmp_path, "mine")
    np.testing.assert_array_equal(arrays["turned"], matrix.T)
    np.testing.assert_array_equal(arrays["cut"], matrix[:, ::2])


def test_a_directory_without_a_checkpoint_begins_anew(tmp_path: Path) -> None:
    assert load_checkpoint(tmp_path, "mine") == (0, {})
    assert load_checkpoint(tmp_path / "none", "mine") == (0, {})


def test_a_save_that_breaks_off_leaves_the_last_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fill_the_disk(arrays: object, path: Path, metadata: object) -> None:
        path.write_bytes(b"half")
        raise OSError("no space left on device")

    save_checkpoint(tmp_path, 1, "mine", ARRAYS)
    monkeypatch.setattr("safetensors.numpy.save_file", fill_the_disk)
    with pytest.raises(OSError, match="no space left"):
        save_checkpoint(tmp_path, 2, "mine", ARRAYS)
    assert load_checkpoint(tmp_path, "mine")[0] == 1
    assert [path.name for path in tmp_path.iterdir()] == [FILE]


def test_the_checkpoint_of_another_run_is_refused(tmp_path: Path) -> None:
    save_checkpoint(tmp_path, 1, "theirs", ARRAYS)
    with pytest.raises(UserError, match=r"checkpoint.safetensors belongs to a run with other data, parameters or seed"):
        load_checkpoint(tmp_path, "mine")


@pytest.mark.parametrize("damage", ["cut", "junk", "empty", "directory"])
def test_a_damaged_checkpoint_is_refused_by_name(tmp_path: Path, damage: str) -> None:
    save_checkpoint(tmp_path, 1, "mine", ARRAYS)
    path = tmp_path / FILE
    data = path.read_bytes()
    path.unlink()
    if damage == "directory":
        path.mkdir()
    else:
        path.write_bytes({"cut": data[: len(data) - 5], "junk": b"junk" * 50, "empty": b""}[damage])
    with pytest.raises(UserError, match=r"checkpoint.safetensors is damaged: .*remove it to begin anew"):
        load_checkpoint(tmp_path, "mine")


@pytest.mark.parametrize("metadata", [None, {"fingerprint": "mine"}, {"fingerprint": "mine", "epochs_done": "many"}])
def test_a_foreign_file_in_its_place_is_refused(tmp_path: Path, metadata: dict[str, str] | None) -> None:
    save_file(ARRAYS, tmp_path / FILE, metadata)
    with pytest.raises(UserError, match="is damaged"):
        load_checkpoint(tmp_path, "mine")


def learn(network: nn.Module, optimizer: torch.optim.Optimizer, n_steps: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    for _ in range(n_steps):
        optimizer.zero_grad()
        network(torch.randn(5, 4, generator=generator)).square().sum().backward()
        optimizer.step()


@pytest.mark.parametrize("kind", ["adamw", "sgd"])
def test_learning_goes_on_the_same_from_arrays(kind: str, tmp_path: Path) -> None:
    def make() -> tuple[nn.Module, torch.optim.Optimizer]:
        network = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2))
        if kind == "sgd":
            return network, torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.9)
        return network, torch.optim.AdamW(network.parameters(), lr=0.01)

    network, optimizer = make()
    learn(network, optimizer, 3, seed=0)
    save_checkpoint(tmp_path, 1, "mine", module_arrays(network, "net") | optimizer_arrays(optimizer))
    taken_up, its_optimizer = make()
    _, arrays = load_checkpoint(tmp_path, "mine")
    load_module(taken_up, arrays, "net")
    load_optimizer(its_optimizer, arrays)
    learn(network, optimizer, 3, seed=1)
    learn(taken_up, its_optimizer, 3, seed=1)
    for first, second in zip(network.parameters(), taken_up.parameters(), strict=True):
        assert torch.equal(first, second)


def test_loading_a_module_takes_its_own_arrays_alone() -> None:
    one, two = nn.Linear(2, 2), nn.Linear(2, 2)
    arrays = module_arrays(one, "net") | module_arrays(two, "network")
    found = nn.Linear(2, 2)
    load_module(found, arrays, "net")
    assert torch.equal(found.weight, one.weight)


def test_a_network_is_restored_without_drawing_weights_or_copying_them() -> None:
    first = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    kept = {name: value.numpy() for name, value in first.state_dict().items()}
    torch.manual_seed(0)
    before = torch.get_rng_state()
    second = build_from_arrays(lambda: nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)), kept)
    assert torch.equal(torch.get_rng_state(), before)
    seen = torch.ones(4, 3)
    assert torch.equal(second(seen), first.eval()(seen))
    assert second[0].weight.data_ptr() == kept["0.weight"].ctypes.data
    assert not any(value.requires_grad for value in second.parameters())
