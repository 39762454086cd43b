// Kernel "shape_values": writes the values of a shape tensor, known before the run, to where kernels read them.
#include "backend/check_shapes.h"
#include "backends/cpu/kernel_file.h"
#include "base/real_op.h"
#include "ir/host_tensor.h"

#include <cstring>

namespace tenon::cpu
{

namespace
{
class PreparedValues final : public HostPrepared
{
  public:
    explicit PreparedValues(Bytes bytes)
        : mBytes{std::move(bytes)}
    {
    }
    bool isCollective() const noexcept override
    {
        return true;
    }
    Result<Done> run(Call const& call, Lane const& lane) const override
    {
        if (lane.index == 0 && !mBytes.empty())
            std::memcpy(call.outputs[0], mBytes.data(), mBytes.size());
        return Done{};
    }

  private:
    Bytes mBytes;
};

class ValuesKernel final : public Kernel
{
  public:
    //! With real numbers, extents are their bits.
    explicit ValuesKernel(bool real)
        : mReal{real}
    {
    }
    Result<std::shared_ptr<Prepared const>> prepare(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs, int32_t) const override
    {
        if (inputs.size() != 1 || outputs.size() != 1 || !inputs[0].present || !outputs[0].present)
            return badArgument("it takes one tensor and gives one");
        TENON_TRY(checkExtents(outputs[0]));
        auto const count = static_cast<int64_t>(inputs[0].extents.size());
        bool const isKnown =
            isInteger(outputs[0].dtype) || outputs[0].dtype == DType::kFLOAT || outputs[0].dtype == DType::kBOOL;
        if (count != volumeOf(outputs[0].extents) || !isKnown)
            return badArgument("{} values do not make {} elements of {}", count, volumeOf(outputs[0].extents),
                nameOf(outputs[0].dtype));
        HostTensor values{outputs[0].dtype, outputs[0].extents};
        for (int64_t i = 0; i < count; ++i)
        {
            int64_t const value = inputs[0].extents[static_cast<size_t>(i)];
            mReal ? values.set(i, fromRealBits(value)) : values.setInteger(i, value);
        }
        Bytes bytes(static_cast<size_t>(tenon::bytesOf(outputs[0].dtype, count)));
        values.toBytes(bytes.data());
        return std::shared_ptr<Prepared const>{std::make_shared<PreparedValues>(std::move(bytes))};
    }

  private:
    bool mReal;
};

Result<std::unique_ptr<Kernel>> loadValues(KernelSource const& source)
{
    return std::unique_ptr<Kernel>{std::make_unique<ValuesKernel>(!source.args.empty())};
}

constexpr KernelEntry kShapeValuesKernels[]{{"shape_values", &loadValues}};
} // namespace

} // namespace tenon::cpu

TENON_KERNELS(ShapeValues, {}, kShapeValuesKernels);
