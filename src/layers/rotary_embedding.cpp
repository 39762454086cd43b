// RotaryEmbedding: rules and plain loops.
#include "layers/rotary_embedding.h"

#include "layers/check.h"
#include "layers/positions.h"
#include "layers/shape_values.h"

namespace tenon
{

Result<Done> RotaryEmbedding::verify() const
{
    if (rotaryEmbeddingDim < 0 || rotaryEmbeddingDim % 2 != 0)
        return badArgument("turns {} columns; must be an even number, or 0 for all", rotaryEmbeddingDim);
    return Done{};
}

Result<TensorType> RotaryEmbedding::infer(Inputs const& in) const
{
    Check check{in, kName};
    check.fields(verify()).count(3, 4).floating(0).rank(0, 4).sameType(1, 0).sameType(2, 0);
    bool const hasPositions = in.has(3);
    check.rank(1, hasPositions ? 2 : 3).sameRank(2, 1).index(3).rank(3, 2);
    TENON_TRY(check.done());
    Shape const& x = in.type(0).shape;
    check.input(0, x[3].isConstant(), "has {} columns, which must be known while building", x[3].show());
    TENON_TRY(check.done());
    int64_t const columns = *x[3].constant();
    int64_t const turned = rotaryEmbeddingDim == 0 ? columns : rotaryEmbeddingDim;
    check.input(0, turned % 2 == 0 && turned <= columns, "has {} columns, of which {} cannot be turned in pairs",
        columns, turned);
    for (int32_t i = 1; i < 3; ++i)
    {
        check.extent(i, hasPositions ? 1 : 2, turned / 2);
        if (!hasPositions)
            check.extent(i, 0, in.type(i).shape[0] == ShapeExpr{1} ? ShapeExpr{1} : x[0]).extent(i, 1, x[2]);
    }
    check.extent(2, 0, in.type(1).shape[0]);
    if (hasPositions)
        check.extent(3, 0, x[0]).extent(3, 1, x[2]);
    return check.sameAs(0);
}

Result<std::vector<HostTensor>> RotaryEmbedding::reference(HostTensors const& in) const
{
    HostTensor out = TENON_TRY(outputOf(*this, in));
    HostTensor const& x = *in[0];
    int64_t const heads = x.extents[1];
    int64_t const length = x.extents[2];
    int64_t const columns = x.extents[3];
    int64_t const pairs = in[1]->extents.back();
    int64_t const tables = in[1]->extents.size() < 3 ? 0 : in[1]->extents[0];
    bool const hasPositions = in.size() > 3 && in[3] != nullptr;
    out.reals = x.reals;
    CancellationCounter counter;
    for (int64_t row = 0; columns > 0 && row < x.count() / columns; ++row)
    {
        int64_t const batch = row / length / heads;
        int64_t at = (tables == 1 ? 0 : batch) * length + row % length;
        if (hasPositions)
            at = in[3]->integer(at);
        if (hasPositions && (at < 0 || at >= in[1]->extents[0]))
            return badConfig("RotaryEmbedding: position {}, the caches have {}", at, in[1]->extents[0]);
        for (int64_t pair = 0; pair < pairs; ++pair)
        {
            counter.next();
            int64_t const first = row * columns + (interleaved ? 2 * pair : pair);
            int64_t const second = interleaved ? first + 1 : first + pairs;
            double const cosine = in[1]->real(at * pairs + pair);
            double const sine = in[2]->real(at * pairs + pair);
            out.set(first, x.real(first) * cosine - x.real(second) * sine);
            out.set(second, x.real(first) * sine + x.real(second) * cosine);
        }
    }
    return oneOutput(std::move(out));
}

} // namespace tenon
