// Cumulative: rules and plain loops.
#include "layers/cumulative.h"

#include "layers/check.h"
#include "layers/positions.h"
#include "layers/shape_values.h"

namespace tenon
{

namespace
{
Result<size_t> axisOf(Inputs const& in)
{
    std::vector<int64_t> const values = TENON_TRY(constantOperand(in, Cumulative::kName, 1));
    int64_t const rank = in.type(0).rank();
    if (values.size() != 1 || values[0] < -rank || values[0] >= rank)
        return inputError(in, Cumulative::kName, 1, fmt::format("names no axis of a tensor of rank {}", rank));
    return static_cast<size_t>(values[0] < 0 ? values[0] + rank : values[0]);
}
} // namespace

Result<TensorType> Cumulative::infer(Inputs const& in) const
{
    TENON_TRY(Check(in, kName)
                  .that(operation == nvinfer1::CumulativeOperation::kSUM, "unknown operation {}",
                      static_cast<int32_t>(operation))
                  .count(2)
                  .index(1)
                  .rank(1, 0)
                  .types(0, {DType::kFLOAT, DType::kHALF, DType::kBF16, kFloat64, DType::kINT32, DType::kINT64})
                  .done());
    TENON_TRY(axisOf(in));
    return in.type(0);
}

Result<std::vector<HostTensor>> Cumulative::reference(HostTensors const& in) const
{
    HostTensor out = TENON_TRY(outputOf(*this, in));
    ConcreteInputs concrete{in};
    Lanes const lanes{out.extents, TENON_TRY(axisOf(concrete.inputs()))};
    HostTensor const& x = *in[0];
    lanes.forEach([&](int64_t first) {
        double real{0.0};
        uint64_t integer{0}; // Sums of integers wrap.
        for (int64_t step = 0; step < lanes.length; ++step)
        {
            int64_t const at = first + (reverse ? lanes.length - 1 - step : step) * lanes.inner;
            if (exclusive)
                x.isReal() ? out.set(at, real) : out.setInteger(at, static_cast<int64_t>(integer));
            real += x.isReal() ? x.real(at) : 0.0;
            integer += x.isReal() ? 0 : static_cast<uint64_t>(x.integer(at));
            if (!exclusive)
                x.isReal() ? out.set(at, real) : out.setInteger(at, static_cast<int64_t>(integer));
        }
    });
    return oneOutput(std::move(out));
}

} // namespace tenon
