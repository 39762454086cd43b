// The fake CUDA driver and compiler: libraries under the names of the real ones, which keep "device" memory where the
// host cannot touch it, run streams in threads of their own, and run kernels that the host's compiler has translated.
// What a test tells them stands here.
#pragma once

#include <cstdint>
#include <functional>

#define TENON_FAKE_CUDA extern "C" __attribute__((visibility("default")))

//! The call of the driver that comes `nth` from now (from 1) answers `code` and does nothing; 0: none.
TENON_FAKE_CUDA void tenonFakeFailCall(int64_t nth, int code);
//! Like it, for calls of one name, all of them until the name is null.
TENON_FAKE_CUDA void tenonFakeFailAll(char const* name, int code);
//! Calls since the process began.
TENON_FAKE_CUDA int64_t tenonFakeCalls();
//! Calls of one name that were let through.
TENON_FAKE_CUDA int64_t tenonFakeCallsOf(char const* name);
//! The call that was made to fail last; empty: none.
TENON_FAKE_CUDA char const* tenonFakeFailed();
//! Blocks of device memory, pinned memory, streams, events and modules that exist.
TENON_FAKE_CUDA int64_t tenonFakeObjects();
//! For fake libraries over the driver: counts a call of theirs; not 0 where a test wants it to fail.
TENON_FAKE_CUDA int tenonFakeEnter(char const* name);
//! Puts work that may touch device memory into a stream, or into what it records.
TENON_FAKE_CUDA int tenonFakeEnqueue(void* stream, std::function<void()> const& work);
//! Returns when no stream has work.
TENON_FAKE_CUDA void tenonFakeDrain();
