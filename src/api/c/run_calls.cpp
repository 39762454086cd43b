// C functions: runs that can be ended, and what they need.
#include "api/boundary.h"
#include "api/run/execution_context.h"
#include "api/run/runtime_config.h"
#include "tenon/run.h"

int32_t tenonRun(
    void* context, void* stream, void* const* bindings, TenonContinueCheck mayContinue, void* user) noexcept
{
    using tenon::api::ExecutionContext;
    ExecutionContext& run = ExecutionContext::of(*static_cast<nvinfer1::IExecutionContext*>(context));
    auto const work = [&]() -> tenon::Result<tenon::Done> {
        tenon::RunRequest request{.stream = stream, .bindings = bindings};
        request.isSynchronous = bindings != nullptr && stream == nullptr; // Python's execute_v2.
        if (bindings == nullptr)
            request.consumed = run.context().inputConsumedEvent();
        if (mayContinue == nullptr)
            return run.run(request);
        tenon::ContinueCheck const ask = [&] { return mayContinue(user) != 0; };
        request.mayContinue = &ask;
        return run.run(request);
    };
    // Messages name the calls that users know: Python's are made of this one.
    char const* const call = bindings == nullptr ? "IExecutionContext::enqueueV3"
        : stream == nullptr                      ? "IExecutionContext::executeV2"
                                                 : "IExecutionContext::enqueueV2";
    return tenon::api::fencedDone(run.reporting().log(), call, work) ? 1 : 0;
}

int32_t tenonRunBatch(void* context, int32_t batchSize, void* stream, void* consumed, void* const* bindings,
    TenonContinueCheck mayContinue, void* user) noexcept
{
    using tenon::api::ExecutionContext;
    ExecutionContext& run = ExecutionContext::of(*static_cast<nvinfer1::IExecutionContext*>(context));
    auto const work = [&]() -> tenon::Result<tenon::Done> {
        if (consumed != nullptr)
            TENON_TRY(run.context().engine().device().checkEvent(consumed));
        tenon::ContinueCheck const ask = [&] { return mayContinue(user) != 0; };
        tenon::RunRequest request{.stream = stream, .consumed = consumed, .bindings = bindings};
        request.isSynchronous = stream == nullptr;
        if (mayContinue != nullptr)
            request.mayContinue = &ask;
        return run.runBatch(batchSize, request);
    };
    char const* const call = stream == nullptr ? "IExecutionContext::execute" : "IExecutionContext::enqueue";
    return tenon::api::fencedDone(run.reporting().log(), call, work) ? 1 : 0;
}

int32_t tenonSetDeviceMemory(void* context, void* memory, int64_t bytes) noexcept
{
    using tenon::api::ExecutionContext;
    ExecutionContext& run = ExecutionContext::of(*static_cast<nvinfer1::IExecutionContext*>(context));
    std::optional<int64_t> const known = bytes == -1 ? std::nullopt : std::optional{bytes};
    auto const work = [&] { return run.context().setDeviceMemory(memory, known); };
    return tenon::api::fencedDone(run.reporting().log(), "IExecutionContext::setDeviceMemoryV2", work) ? 1 : 0;
}

int32_t tenonIsSharedBySamples(void const* engine, char const* tensor) noexcept
{
    using tenon::api::CudaEngine;
    CudaEngine const& own = CudaEngine::of(*static_cast<nvinfer1::ICudaEngine const*>(engine));
    int32_t const io = own.engine().findIO(tensor);
    return own.isImplicit() && io >= 0 && own.engine().io(io).dims.d[0] == 1 ? 1 : 0;
}

int32_t tenonIsOnGpu(void const* engine) noexcept
{
    using tenon::api::CudaEngine;
    CudaEngine const& own = CudaEngine::of(*static_cast<nvinfer1::ICudaEngine const*>(engine));
    return own.engine().device().usesHostMemory() ? 0 : 1;
}

int32_t tenonSetSpin(void* config, int64_t microseconds) noexcept
{
    using tenon::api::RuntimeConfig;
    RuntimeConfig& own = RuntimeConfig::of(*static_cast<nvinfer1::IRuntimeConfig*>(config));
    auto const work = [&] { return own.setSpin(microseconds); };
    return tenon::api::fencedDone(own.reporting().log(), "tenonSetSpin", work) ? 1 : 0;
}

int64_t tenonGetSpin(void const* config) noexcept
{
    return tenon::api::RuntimeConfig::of(*static_cast<nvinfer1::IRuntimeConfig const*>(config)).spin();
}
