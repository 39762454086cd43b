// Kernel "tell": the value of a 0-D tensor, which decides how the run goes on: a condition, a number of rounds.
#include "backends/ref/kernels.h"
#include "ir/host_tensor.h"

#include <algorithm>

namespace tenon::ref
{

namespace
{
template <typename T>
int64_t valueAt(void const* from) noexcept
{
    return static_cast<int64_t>(*static_cast<T const*>(from));
}

class PreparedTell final : public HostPrepared
{
  public:
    explicit PreparedTell(DType dtype)
        : mDtype{dtype}
    {
    }
    bool isCollective() const noexcept override
    {
        return false;
    }
    Result<Done> run(Call const& call, Lane const&) const override
    {
        void const* const from = call.inputs[0];
        int64_t value{0};
        switch (mDtype)
        {
        case DType::kINT64: value = valueAt<int64_t>(from); break;
        case DType::kINT32: value = valueAt<int32_t>(from); break;
        default: value = valueAt<uint8_t>(from) != 0 ? 1 : 0; break;
        }
        call.produced[0] = std::max<int64_t>(value, 0);
        return Done{};
    }

  private:
    DType mDtype;
};

class TellKernel final : public Kernel
{
  public:
    Result<std::shared_ptr<Prepared const>> prepare(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs, int32_t) const override
    {
        if (inputs.size() != 1 || !inputs[0].present || !outputs.empty())
            return badArgument("it takes one tensor and gives none");
        DType const type = inputs[0].dtype;
        bool const isTold = type == DType::kINT64 || type == DType::kINT32 || type == DType::kBOOL;
        if (!isTold || volumeOf(inputs[0].extents) != 1)
            return badArgument(
                "it cannot tell one value of a tensor {}", TensorType{type, shapeOf(inputs[0].extents)}.show());
        return std::shared_ptr<Prepared const>{std::make_shared<PreparedTell>(type)};
    }
};
} // namespace

Result<std::unique_ptr<Kernel>> loadTell(KernelSource const& source)
{
    if (source.produces != 1)
        return badArgument("it tells one value, and the plan expects {}", source.produces);
    return std::unique_ptr<Kernel>{std::make_unique<TellKernel>()};
}

} // namespace tenon::ref
