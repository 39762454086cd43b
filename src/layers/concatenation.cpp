// Concatenation: rules, contents and plain loops.
#include "layers/concatenation.h"

#include "layers/check.h"
#include "layers/positions.h"
#include "layers/shape_values.h"

namespace tenon
{

WithBatch Concatenation::withBatch(SampleInputs const& samples) const
{
    Concatenation batched = *this;
    ++batched.axis;
    return {makeLayer(batched), std::vector(static_cast<size_t>(samples.in.size()), BatchUse::kReplicated), {}};
}

Result<TensorType> Concatenation::infer(Inputs const& in) const
{
    Check check{in, kName};
    check.that(in.size() > 0, "has no inputs").count(in.size()).axis(0, axis);
    for (int32_t i = 1; i < in.size(); ++i)
        check.sameRank(i, 0).sameType(i, 0);
    TENON_TRY(check.done());
    TensorType type = in.type(0);
    for (int32_t i = 1; i < in.size(); ++i)
    {
        for (int32_t a = 0; a < type.rank(); ++a)
        {
            ShapeExpr& mine = type.shape[static_cast<size_t>(a)];
            ShapeExpr const& other = in.type(i).shape[static_cast<size_t>(a)];
            if (a == axis)
                mine = mine + other;
            else
                check.extent(i, a, mine);
            if (a != axis && other.isConstant()) // The plainest of extents that must be equal.
                mine = other;
        }
    }
    TENON_TRY(check.done());
    return type;
}

std::optional<Shape> Concatenation::contents(Inputs const& in) const
{
    std::vector<int32_t> all;
    for (int32_t i = 0; i < in.size(); ++i)
        all.push_back(i);
    return movedContents(in, all, [&](HostTensors const& tensors) { return reference(tensors); });
}

Result<std::vector<HostTensor>> Concatenation::reference(HostTensors const& in) const
{
    HostTensor out = TENON_TRY(outputOf(*this, in));
    Lanes const lanes{out.extents, static_cast<size_t>(axis)};
    int64_t offset{0};
    for (HostTensor const* part : in)
    {
        int64_t const width = part->extents[static_cast<size_t>(axis)] * lanes.inner;
        for (int64_t o = 0; o < lanes.outer; ++o)
            for (int64_t i = 0; i < width; ++i)
                copyElement(out, o * lanes.length * lanes.inner + offset + i, *part, o * width + i);
        offset += width;
    }
    return oneOutput(std::move(out));
}

} // namespace tenon
