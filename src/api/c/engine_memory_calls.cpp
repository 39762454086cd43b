// C functions: memory and streams of an engine's device.
#include "api/run/cuda_engine.h"
#include "tenon/engine_memory.h"

namespace
{
tenon::Device& deviceOf(void const* engine)
{
    return tenon::api::CudaEngine::of(*static_cast<nvinfer1::ICudaEngine const*>(engine)).engine().device();
}

//! Whether the call succeeded: nothing is thrown across.
template <typename Call>
int32_t isDone(Call const& call) noexcept
try
{
    return call() ? 1 : 0;
}
catch (...) // No memory for an error's text.
{
    return 0;
}
} // namespace

void* tenonEngineAllocate(void const* engine, size_t bytes) noexcept
{
    return deviceOf(engine).allocate(bytes);
}

void tenonEngineFree(void const* engine, void* memory) noexcept
{
    deviceOf(engine).release(memory);
}

int32_t tenonEngineCopyIn(void const* engine, void* to, void const* from, size_t bytes, void* stream) noexcept
{
    return isDone([&] { return deviceOf(engine).copyFromHost(to, from, bytes, stream); });
}

int32_t tenonEngineCopyOut(void const* engine, void* to, void const* from, size_t bytes, void* stream) noexcept
{
    return isDone([&] { return deviceOf(engine).copyToHost(to, from, bytes, stream); });
}

void* tenonEngineCreateStream(void const* engine) noexcept
{
    void* stream{nullptr};
    isDone([&] {
        auto made = deviceOf(engine).createStream();
        stream = made ? *made : nullptr;
        return made;
    });
    return stream;
}

void tenonEngineDestroyStream(void const* engine, void* stream) noexcept
{
    deviceOf(engine).destroyStream(stream);
}

int32_t tenonEngineAwait(void const* engine, void* stream) noexcept
{
    return isDone([&]() -> tenon::Result<bool> {
        tenon::Device& device = deviceOf(engine);
        void* const event = TENON_TRY(device.createEvent());
        std::shared_ptr<void> const own{event, [&](void* each) { device.destroyEvent(each); }};
        TENON_TRY(device.recordEvent(event, stream));
        return device.awaitEvent(event, nullptr);
    });
}
