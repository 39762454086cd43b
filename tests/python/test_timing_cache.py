"""Timing caches from Python: keys as text, round trips through files, what comes from elsewhere."""

import hashlib
import math
import pathlib

import pytest
import small
import tensorrt as trt

LOGGER = small.Recorder()


def setting() -> tuple[trt.Builder, trt.INetworkDefinition, trt.IBuilderConfig]:
    builder = trt.Builder(LOGGER)
    config = small.config(builder)
    config.builder_optimization_level = 4
    return builder, small.network(builder), config


def filled() -> tuple[trt.IBuilderConfig, trt.ITimingCache]:
    builder, network, config = setting()
    cache = config.create_timing_cache(b"")
    assert config.set_timing_cache(cache, ignore_mismatch=False) and config.get_timing_cache() is cache
    assert builder.build_serialized_network(network, config) is not None
    return config, cache


def signed(body: bytes) -> bytes:
    return body + hashlib.sha256(body).digest()


def test_H5_keys_have_a_text_form() -> None:
    text = "0x00ff0123456789abcdef0123456789ab"
    key = trt.TimingCacheKey.parse(text)
    assert str(key) == text and key == trt.TimingCacheKey.parse(text.upper().replace("0X", "0x"))
    assert key != trt.TimingCacheKey.parse("0x" + 32 * "0") and len({key, trt.TimingCacheKey.parse(text)}) == 1
    for wrong in ("", "0x", text[2:], text[:-1], text + "0", "1x" + text[2:], text[:-1] + "g"):
        with pytest.raises(ValueError):
            trt.TimingCacheKey.parse(wrong)


def test_H1_a_cache_comes_back_from_a_file(tmp_path: pathlib.Path) -> None:
    _, cache = filled()
    path = tmp_path / "timing.cache"
    path.write_bytes(cache.serialize())
    builder, network, config = setting()
    again = config.create_timing_cache(path.read_bytes())
    assert config.set_timing_cache(again, ignore_mismatch=True)
    config.set_flag(trt.BuilderFlag.ERROR_ON_TIMING_CACHE_MISS)
    assert builder.build_serialized_network(network, config) is not None, LOGGER.errors()
    assert bytes(again.serialize()) == path.read_bytes()


def test_H4_entries_are_edited() -> None:
    _, cache = filled()
    keys = cache.queryKeys()
    assert keys and all(isinstance(key, trt.TimingCacheKey) for key in keys)
    value = cache.query(keys[0])
    assert isinstance(value, trt.TimingCacheValue) and value.timingMSec >= 0
    value.timingMSec = 2.5
    assert cache.update(keys[0], value) and cache.query(keys[0]).timingMSec == 2.5
    assert cache.update(keys[0], trt.TimingCacheValue(value.tacticHash, math.nan))
    assert len(cache.queryKeys()) == len(keys) - 1 and cache.query(keys[0]).tacticHash == 2**64 - 1
    assert not cache.update(keys[0], value)
    assert cache.reset() and cache.queryKeys() == []


def test_H2_H3_a_cache_of_another_device_is_taken_when_mismatches_are_ignored() -> None:
    config, cache = filled()
    blob = bytes(cache.serialize())
    other = config.create_timing_cache(signed(blob[:-32].replace(b"cpu, ", b"xpu, ", 1)))
    assert other is not None, LOGGER.errors()
    assert not config.set_timing_cache(other, ignore_mismatch=False) and config.get_timing_cache() is cache
    assert "the timing cache was measured on 'xpu, " in LOGGER.errors()
    empty = config.create_timing_cache(b"")
    assert not empty.combine(other, ignore_mismatch=False) and not empty.queryKeys()
    assert empty.combine(other, ignore_mismatch=True) and len(empty.queryKeys()) == len(cache.queryKeys())
    assert config.set_timing_cache(other, ignore_mismatch=True) and config.get_timing_cache() is other


def test_H3_a_cache_of_another_version_does_not_fit() -> None:
    config, cache = filled()
    blob = bytearray(cache.serialize())[:-32]
    blob[12] ^= 1
    other = config.create_timing_cache(signed(bytes(blob)))
    for ignores in (False, True):
        assert not cache.combine(other, ignores) and not config.set_timing_cache(other, ignores)
    assert "is from version 10160" in LOGGER.errors()
