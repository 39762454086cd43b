// Kernel "shape_values": writes the values of a shape tensor, known before the run, to where kernels read them.
#include "backend/check_shapes.h"
#include "backends/ref/kernels.h"
#include "base/real_op.h"

namespace tenon::ref
{

namespace
{
template <typename T>
void write(std::vector<int64_t> const& values, void* to)
{
    auto* out = static_cast<T*>(to);
    for (size_t i = 0; i < values.size(); ++i)
        out[i] = static_cast<T>(values[i]);
}

//! Of the bits of numbers.
void writeReals(std::vector<int64_t> const& values, void* to)
{
    auto* out = static_cast<float*>(to);
    for (size_t i = 0; i < values.size(); ++i)
        out[i] = static_cast<float>(fromRealBits(values[i]));
}

class PreparedShapeValues final : public HostPrepared
{
  public:
    PreparedShapeValues(DType dtype, bool real, std::vector<int64_t> values)
        : mDtype{dtype},
          mReal{real},
          mValues{std::move(values)}
    {
    }
    bool isCollective() const noexcept override
    {
        return false;
    }
    Result<Done> run(Call const& call, Lane const&) const override
    {
        if (mReal)
        {
            writeReals(mValues, call.outputs[0]);
            return Done{};
        }
        switch (mDtype)
        {
        case DType::kINT64: write<int64_t>(mValues, call.outputs[0]); break;
        case DType::kINT32: write<int32_t>(mValues, call.outputs[0]); break;
        case DType::kINT8: write<int8_t>(mValues, call.outputs[0]); break;
        case DType::kFLOAT: write<float>(mValues, call.outputs[0]); break;
        default: write<uint8_t>(mValues, call.outputs[0]); break;
        }
        return Done{};
    }

  private:
    DType mDtype;
    bool mReal;
    std::vector<int64_t> mValues;
};

class ShapeValuesKernel final : public Kernel
{
  public:
    //! With real numbers, extents are their bits.
    explicit ShapeValuesKernel(bool real)
        : mReal{real}
    {
    }
    Result<std::shared_ptr<Prepared const>> prepare(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs, int32_t) const override
    {
        if (inputs.size() != 1 || outputs.size() != 1 || !outputs[0].present)
            return badArgument("they take one list and give one tensor");
        TensorArg const& out = outputs[0];
        TENON_TRY(checkExtents(out));
        int64_t count{1};
        for (int64_t const extent : out.extents)
            count *= extent;
        bool const isKnown = out.dtype == DType::kINT64 || out.dtype == DType::kINT32 || out.dtype == DType::kINT8
            || out.dtype == DType::kUINT8 || out.dtype == DType::kBOOL || out.dtype == DType::kFLOAT;
        bool const fits = isKnown && (!mReal || out.dtype == DType::kFLOAT) && out.layout == Layout::kLinear;
        if (count != static_cast<int64_t>(inputs[0].extents.size()) || !fits)
            return badArgument("{} values for a tensor {}", inputs[0].extents.size(),
                TensorType{out.dtype, shapeOf(out.extents)}.show());
        return std::shared_ptr<Prepared const>{
            std::make_shared<PreparedShapeValues>(out.dtype, mReal, inputs[0].extents)};
    }

  private:
    bool mReal;
};
} // namespace

Result<std::unique_ptr<Kernel>> loadShapeValues(KernelSource const& source)
{
    return std::unique_ptr<Kernel>{std::make_unique<ShapeValuesKernel>(!source.args.empty())};
}

} // namespace tenon::ref
