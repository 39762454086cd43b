"""contexts=0 takes one lane per thread, as far as half of the free memory goes."""

import pathlib

import pytest
import tenon.serving as serving
from tenon.serving import fitting
from test_pool import built, product


class Sized:
    """An engine as far as its memory is asked for: two profiles, each of whose contexts takes 100 bytes."""

    num_optimization_profiles = 2

    def get_device_memory_size_for_profile_v2(self, profile_index: int) -> int:
        return 100


@pytest.mark.parametrize("free, lanes", [(0, 1), (799, 1), (800, 2), (1599, 3), (1600, 4), (1 << 40, 4)])
def test_lanes_go_by_memory_and_threads(monkeypatch: pytest.MonkeyPatch, free: int, lanes: int) -> None:
    monkeypatch.setenv("TENON_THREADS", "4")
    assert fitting.contexts_that_fit(Sized(), free) == lanes


def test_the_limit_of_a_control_group_counts(tmp_path: pathlib.Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc" / "meminfo").write_text("MemTotal:       9 kB\nMemAvailable:      4 kB\n")
    assert fitting.free_memory(tmp_path) == 4096
    group = tmp_path / "sys" / "fs" / "cgroup"
    group.mkdir(parents=True)
    for limit, free in (("max", 4096), ("3000", 1000), ("9000000", 4096), ("1000", 0)):
        (group / "memory.max").write_text(limit + "\n")
        (group / "memory.current").write_text("2000\n")
        assert fitting.free_memory(tmp_path) == free


def test_a_pool_takes_as_many_as_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENON_THREADS", "3")
    engine = built(product, {"x": ((1, 8), (4, 8), (16, 8))})
    with serving.Pool(engine, contexts=0) as pool:
        assert len(pool._crew.threads) == 3
