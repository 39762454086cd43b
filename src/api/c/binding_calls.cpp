// C functions: runs and shape tensors by binding index.
#include "api/boundary.h"
#include "api/run/execution_context.h"
#include "tenon/bindings.h"

#include <algorithm>

using tenon::api::ExecutionContext;

namespace
{
ExecutionContext& contextOf(void* context) noexcept
{
    return ExecutionContext::of(*static_cast<nvinfer1::IExecutionContext*>(context));
}
} // namespace

int32_t tenonEnqueueBindings(void* context, void* stream, void* const* bindings, void* inputConsumed,
    TenonContinueCheck mayContinue, void* user) noexcept
{
    ExecutionContext& run = contextOf(context);
    auto const work = [&]() -> tenon::Result<tenon::Done> {
        tenon::api::BindingsRun wanted{.bindings = bindings, .stream = stream, .consumed = inputConsumed};
        tenon::ContinueCheck const ask = [&] { return mayContinue(user) != 0; };
        wanted.mayContinue = mayContinue == nullptr ? nullptr : &ask;
        return run.runBindings(wanted);
    };
    return tenon::api::fencedDone(run.reporting().log(), "IExecutionContext::enqueueV2", work) ? 1 : 0;
}

int32_t tenonSetShapeInput(void* context, int32_t binding, int64_t const* values, int32_t count) noexcept
{
    ExecutionContext& to = contextOf(context);
    auto const work = [&]() -> tenon::Result<tenon::Done> {
        if (count < 0 || (values == nullptr && count > 0))
            return tenon::badArgument("{} values at {}", count, static_cast<void const*>(values));
        return to.setShapeInput(binding, {values, static_cast<size_t>(count)});
    };
    return tenon::api::fencedDone(to.reporting().log(), "IExecutionContext::setInputShapeBinding", work) ? 1 : 0;
}

int64_t tenonMaxOutputSize(void const* context, void* const* bindings, char const* tensor) noexcept
{
    ExecutionContext const& of = ExecutionContext::of(*static_cast<nvinfer1::IExecutionContext const*>(context));
    return tenon::api::fenced(of.reporting().log(), "IExecutionContext::getMaxOutputSize", int64_t{-1}, [&] {
        auto const bytes = of.context().maxOutputSize(tensor, bindings);
        return bytes ? *bytes : int64_t{-1};
    });
}

int32_t tenonGetShape(void* context, int32_t binding, int64_t* values, int32_t room) noexcept
{
    ExecutionContext& of = contextOf(context);
    return tenon::api::fenced(
        of.reporting().log(), "IExecutionContext::getShapeBinding", int32_t{-1}, [&]() -> tenon::Result<int32_t> {
            std::vector<int64_t> const found = TENON_TRY(of.shapeOf(binding));
            if (room > 0)
                std::copy_n(found.begin(), std::min(found.size(), static_cast<size_t>(room)), values);
            return static_cast<int32_t>(found.size());
        });
}
