// What steps of custom layers do on CUDA beside their own work, as calls of the driver.
#include "backends/plugin/cuda_work.h"

namespace tenon::custom
{

namespace
{
//! The four bytes of a size tensor become the eight that the runtime reads.
void widen(void* told)
{
    auto* const value = static_cast<int64_t*>(told);
    *value = static_cast<int32_t>(static_cast<uint64_t>(*value));
}

Result<Done> copied(CudaCall const& at, void* to, void const* from, size_t bytes)
{
    cuda::Code const code = at.api.cuMemcpyAsync(
        reinterpret_cast<cuda::Address>(to), reinterpret_cast<cuda::Address>(from), bytes, at.stream);
    if (code != cuda::kSuccess)
        return at.device.noted(code, "cuMemcpyAsync");
    return Done{};
}
} // namespace

Result<Done> takeOverOnGpu(CudaCall const& at, std::span<TakeOver const> all, void const** given)
{
    for (TakeOver const& each : all)
    {
        void* const shared = at.call.outputs[each.output];
        if (shared != given[each.input] && each.bytes > 0)
            TENON_TRY(copied(at, shared, given[each.input], each.bytes));
        given[each.input] = shared;
    }
    return Done{};
}

Result<Done> tellSizes(CudaCall const& at, PluginPorts const& ports, bool isEmpty)
{
    for (size_t i = 0; i < ports.dataDependent; ++i)
    {
        void* const size = at.call.outputs[ports.fields.sizeOutputs[i]];
        size_t const bytes = ports.isWideSize(i) ? sizeof(int64_t) : sizeof(int32_t);
        if (isEmpty)
        {
            cuda::Code const code = at.api.cuMemsetD8Async(reinterpret_cast<cuda::Address>(size), 0, bytes, at.stream);
            if (code != cuda::kSuccess)
                return at.device.noted(code, "cuMemsetD8Async");
        }
        TENON_TRY(copied(at, &at.call.produced[i], size, bytes));
        if (ports.isWideSize(i))
            continue;
        if (cuda::Code const code = at.api.cuLaunchHostFunc(at.stream, &widen, &at.call.produced[i]);
            code != cuda::kSuccess)
            return at.device.noted(code, "cuLaunchHostFunc");
    }
    return Done{};
}

} // namespace tenon::custom
