// TopK: rules and plain loops.
#include "layers/top_k.h"

#include "layers/check.h"
#include "layers/positions.h"
#include "layers/shape_values.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tenon
{

Result<Done> TopK::verify() const
{
    if (operation < nvinfer1::TopKOperation::kMAX || operation > nvinfer1::TopKOperation::kMIN)
        return badArgument("unknown operation {}", static_cast<int32_t>(operation));
    if (indicesType != DType::kINT32 && indicesType != DType::kINT64)
        return badArgument("indices cannot be {}", nameOf(indicesType));
    return Done{};
}

namespace
{
Result<ShapeExpr> countOf(TopK const& layer, Inputs const& in)
{
    if (!in.has(1))
        return ShapeExpr{layer.k};
    TENON_TRY(Check(in, TopK::kName).index(1).rank(1, 0, 1).done());
    std::optional<Shape> const values = knownValues(in, 1);
    if (!values || values->size() != 1)
        return inputError(in, TopK::kName, 1, "gives k, but its value depends on data");
    return values->front();
}
} // namespace

WithBatch TopK::withBatch(SampleInputs const&) const
{
    TopK batched = *this;
    batched.reduceAxes <<= 1U;
    return {makeLayer(batched), {BatchUse::kBroadcast, BatchUse::kShared}, {}};
}

Result<std::vector<TensorType>> TopK::infer(Inputs const& in) const
{
    Check check{in, kName};
    check.fields(verify()).count(1, 2).axes(0, reduceAxes, true);
    check.types(0, {DType::kFLOAT, DType::kHALF, DType::kBF16, kFloat64, DType::kINT8, DType::kINT32, DType::kINT64});
    if (check)
        check.input(0, axis() >= in.type(0).rank() - 4, "has rank {}; axis {} is none of its last four",
            in.type(0).rank(), axis());
    TENON_TRY(check.done());
    ShapeExpr const count = TENON_TRY(countOf(*this, in));
    ShapeExpr const extent = in.type(0).shape[static_cast<size_t>(axis())];
    if (count.isConstant())
        check.that(*count.constant() >= 0, "k is {}, must be 0 or more", count.show())
            .input(0, !extent.isConstant() || *count.constant() <= *extent.constant(),
                "has extent {} on axis {}, k is {}", extent.show(), axis(), count.show());
    TENON_TRY(check.done());
    TensorType values = in.type(0);
    values.shape[static_cast<size_t>(axis())] = count;
    TensorType indices{indicesType, values.shape};
    return std::vector<TensorType>{std::move(values), std::move(indices)};
}

Result<std::vector<HostTensor>> TopK::reference(HostTensors const& in) const
{
    ConcreteInputs concrete{in};
    std::vector<TensorType> const types = TENON_TRY(infer(concrete.inputs()));
    HostTensor values{types[0].dtype, *staticExtents(types[0].shape)};
    HostTensor indices{types[1].dtype, values.extents};
    HostTensor const& x = *in[0];
    Lanes const from{x.extents, static_cast<size_t>(axis())};
    int64_t const count = values.extents[static_cast<size_t>(axis())];
    bool const largest = operation == nvinfer1::TopKOperation::kMAX;
    std::vector<int64_t> order; // None where there are no lines, however long they would be.
    from.forEach([&](int64_t first) {
        auto const isBefore = [&](int64_t a, int64_t b) {
            int64_t const i = first + a * from.inner;
            int64_t const j = first + b * from.inner;
            if (!x.isReal())
                return largest ? x.integer(i) > x.integer(j) : x.integer(i) < x.integer(j);
            if (std::isnan(x.real(i)) || std::isnan(x.real(j))) // A NaN is larger than every number.
                return std::isnan(x.real(i)) != std::isnan(x.real(j)) && std::isnan(x.real(i)) == largest;
            return largest ? x.real(i) > x.real(j) : x.real(i) < x.real(j);
        };
        order.resize(static_cast<size_t>(from.length));
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), isBefore);
        int64_t const outer = first / (from.length * from.inner);
        for (int64_t rank = 0; rank < count; ++rank)
        {
            int64_t const to = (outer * count + rank) * from.inner + first % from.inner;
            copyElement(values, to, x, first + order[static_cast<size_t>(rank)] * from.inner);
            indices.setInteger(to, order[static_cast<size_t>(rank)]);
        }
    });
    return std::vector<HostTensor>{std::move(values), std::move(indices)};
}

} // namespace tenon
