// Pooling: rules and plain loops.
#include "layers/pooling.h"

#include "layers/check.h"
#include "layers/positions.h"
#include "layers/shape_values.h"

#include <algorithm>
#include <limits>

namespace tenon
{

using nvinfer1::PoolingType;

Window Pooling::window() const
{
    return Window::of(windowSize, stride.nbDims > 0 ? stride : windowSize, {}, prePadding, postPadding, paddingMode);
}

Result<Done> Pooling::verify() const
{
    TENON_TRY(window().verify());
    if (poolingType < PoolingType::kMAX || poolingType > PoolingType::kMAX_AVERAGE_BLEND)
        return badArgument("unknown pooling type {}", static_cast<int32_t>(poolingType));
    return Done{};
}

bool Pooling::lacksBatch(Inputs const& in) const
{
    return in.has(0) && in.type(0).rank() == static_cast<int32_t>(window().rank()) + 1;
}

Result<TensorType> Pooling::infer(Inputs const& in) const
{
    Window const window = this->window();
    Check check{in, kName};
    check.fields(verify()).count(1).rank(0, static_cast<int32_t>(window.rank()) + 2);
    if (poolingType == PoolingType::kMAX)
        check.types(0, {DType::kFLOAT, DType::kHALF, DType::kBF16, kFloat64, DType::kINT8, DType::kUINT8});
    else
        check.floating(0);
    TensorType type = TENON_TRY(check.sameAs(0));
    for (size_t axis = 0; axis < window.rank(); ++axis)
    {
        ShapeExpr& extent = type.shape[axis + 2];
        ShapeExpr const from = extent;
        extent = window.outputExtent(axis, from);
        check.input(0, !extent.isConstant() || *extent.constant() > 0,
            "has extent {} on axis {}, too little for a window of {}", from.show(), axis + 2, window.size[axis]);
    }
    TENON_TRY(check.done());
    return type;
}

namespace
{
//! What one window holds.
struct Pooled
{
    double maximum{-std::numeric_limits<double>::infinity()};
    double sum{0.0};
    int64_t inside{0};
    int64_t padded{0}; //!< Elements and padding.

    double value(Pooling const& pooling) const
    {
        int64_t const divisor = pooling.averageCountExcludesPadding ? inside : padded;
        double const average = divisor == 0 ? 0.0 : sum / static_cast<double>(divisor);
        if (pooling.poolingType == PoolingType::kMAX)
            return maximum;
        if (pooling.poolingType == PoolingType::kAVERAGE)
            return average;
        double const blend = static_cast<double>(pooling.blendFactor);
        return (1.0 - blend) * maximum + blend * average;
    }
};

//! Positions [first, last) that a window covers on one axis.
struct Span
{
    int64_t first;
    int64_t last;
    int64_t padded; //!< Number of them with padding.
};

std::vector<std::vector<Span>> spansOf(
    Window const& window, std::vector<int64_t> const& in, std::vector<int64_t> const& out)
{
    std::vector<std::vector<Span>> spans(window.rank());
    for (size_t axis = 0; axis < window.rank(); ++axis)
    {
        WindowPadding const padding = window.padding(axis, in[axis]);
        for (int64_t o = 0; o < out[axis]; ++o)
        {
            int64_t const start = o * window.stride[axis] - padding.pre;
            int64_t const stop = start + window.size[axis];
            int64_t const padded = std::min(stop, in[axis] + padding.post) - start;
            spans[axis].push_back(
                {std::max<int64_t>(start, 0), std::min(stop, in[axis]), std::max<int64_t>(padded, 0)});
        }
    }
    return spans;
}

Pooled pool(HostTensor const& x, int64_t base, std::vector<int64_t> const& strides, std::vector<Span> const& spans)
{
    Pooled pooled;
    if (!x.isReal()) // Of nothing: the least number of the type.
        pooled.maximum = x.dtype == DType::kINT8 ? -128.0 : 0.0;
    pooled.padded = 1;
    std::vector<int64_t> extents;
    for (size_t axis = 0; axis < spans.size(); ++axis)
    {
        base += spans[axis].first * strides[axis];
        extents.push_back(std::max<int64_t>(spans[axis].last - spans[axis].first, 0));
        pooled.padded *= spans[axis].padded;
    }
    pooled.inside = volumeOf(extents);
    forEachPosition(extents, [&](int64_t, std::vector<int64_t> const& at) {
        double const value = x.real(base + linearOf(at, strides));
        pooled.sum += value;
        pooled.maximum = value > pooled.maximum || value != value ? value : pooled.maximum;
    });
    return pooled;
}
} // namespace

Result<std::vector<HostTensor>> Pooling::reference(HostTensors const& in) const
{
    HostTensor out = TENON_TRY(outputOf(*this, in));
    HostTensor const& x = *in[0];
    std::vector<int64_t> const inSpace(x.extents.begin() + 2, x.extents.end());
    std::vector<int64_t> const outSpace(out.extents.begin() + 2, out.extents.end());
    std::vector<int64_t> const strides = stridesOf(inSpace);
    std::vector<std::vector<Span>> const spans = spansOf(window(), inSpace, outSpace);
    int64_t const outputs = volumeOf(outSpace);
    for (int64_t channel = 0; channel < x.extents[0] * x.extents[1]; ++channel)
        forEachPosition(outSpace, [&](int64_t linear, std::vector<int64_t> const& at) {
            std::vector<Span> here;
            for (size_t axis = 0; axis < at.size(); ++axis)
                here.push_back(spans[axis][static_cast<size_t>(at[axis])]);
            out.set(channel * outputs + linear, pool(x, channel * volumeOf(inSpace), strides, here).value(*this));
        });
    return oneOutput(std::move(out));
}

} // namespace tenon
