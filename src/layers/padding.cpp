// Padding: rules and plain loops.
#include "layers/padding.h"

#include "layers/check.h"
#include "layers/positions.h"
#include "layers/shape_values.h"

namespace tenon
{

bool Padding::lacksBatch(Inputs const& in) const
{
    constexpr int32_t kImageRank{3};
    return in.has(0) && in.type(0).rank() == kImageRank;
}

Result<TensorType> Padding::infer(Inputs const& in) const
{
    TENON_TRY(
        Check(in, kName)
            .count(1)
            .rank(0, 2, nvinfer1::Dims::MAX_DIMS)
            .that(prePadding.nbDims == 2 && postPadding.nbDims == 2,
                "pads {} and {} axes, must pad the last 2 in front and behind", prePadding.nbDims, postPadding.nbDims)
            .done());
    TensorType type = in.type(0);
    for (size_t i = 0; i < 2; ++i)
    {
        ShapeExpr& extent = type.shape[type.shape.size() - 2 + i];
        extent = extent + ShapeExpr{prePadding.d[i]} + ShapeExpr{postPadding.d[i]};
        if (extent.isConstant() && *extent.constant() < 0)
            return layerError(in, kName, fmt::format("crops more than input 0 '{}' has", in[0].name));
    }
    return type;
}

Result<std::vector<HostTensor>> Padding::reference(HostTensors const& in) const
{
    HostTensor out = TENON_TRY(outputOf(*this, in));
    std::vector<int64_t> const& extents = in[0]->extents;
    std::vector<int64_t> const strides = stridesOf(extents);
    size_t const first = extents.size() - 2;
    forEachPosition(out.extents, [&](int64_t linear, std::vector<int64_t> at) {
        for (size_t i = 0; i < 2; ++i)
        {
            at[first + i] -= prePadding.d[i];
            if (at[first + i] < 0 || at[first + i] >= extents[first + i])
                return;
        }
        copyElement(out, linear, *in[0], linearOf(at, strides));
    });
    return oneOutput(std::move(out));
}

} // namespace tenon
