// Convolution: rules, and a reference that lays windows out as columns and multiplies.
#include "layers/convolution.h"

#include "layers/contiguous_math.h"
#include "layers/epilogue_rules.h"
#include "layers/positions.h"
#include "layers/shape_values.h"

#include <algorithm>

namespace tenon
{

Window Convolution::window() const
{
    return Window::of(kernelSize, stride, dilation, prePadding, postPadding, paddingMode);
}

Result<Done> Convolution::verify() const
{
    TENON_TRY(window().verify());
    TENON_TRY(verifyEpilogue(epilogue));
    if (nbOutputMaps < 1 || nbGroups < 1 || nbOutputMaps % nbGroups != 0)
        return badArgument("{} output maps in {} groups", nbOutputMaps, nbGroups);
    return Done{};
}

WithBatch Convolution::withBatch(SampleInputs const&) const
{
    return {makeLayer(*this), {BatchUse::kBroadcast, BatchUse::kShared, BatchUse::kShared}, {}};
}

bool Convolution::lacksBatch(Inputs const& in) const
{
    return in.has(0) && in.type(0).rank() == static_cast<int32_t>(window().rank()) + 1;
}

Result<TensorType> Convolution::infer(Inputs const& in) const
{
    TENON_TRY(Check(in, kName).fields(verify()).count(2, kFirstExtra + epilogue.extraInputs()).done());
    Window const window = this->window();
    auto const rank = static_cast<int32_t>(window.rank()) + 2;
    Check check{in, kName};
    check.floating(0).rank(0, rank).sameType(1, 0).rank(1, rank).sameType(2, 0).rank(2, 1);
    TENON_TRY(check.done());
    Shape const& x = in.type(0).shape;
    check.extent(1, 0, nbOutputMaps).extent(2, 0, nbOutputMaps);
    if (x[1].isConstant())
        check
            .input(0, *x[1].constant() % nbGroups == 0, "has {} channels, which {} groups do not divide", x[1].show(),
                nbGroups)
            .extent(1, 1, *x[1].constant() / nbGroups);
    TensorType type{in.type(0).dtype, {x[0], nbOutputMaps}};
    for (size_t axis = 0; axis < window.rank(); ++axis)
    {
        check.extent(1, static_cast<int32_t>(axis) + 2, window.size[axis]);
        ShapeExpr extent = window.outputExtent(axis, x[axis + 2]);
        check.input(0, !extent.isConstant() || *extent.constant() > 0 || x[axis + 2] == ShapeExpr{0},
            "has extent {} on axis {}, too little for a window that spans {}", x[axis + 2].show(), axis + 2,
            window.span(axis));
        type.shape.push_back(std::move(extent));
    }
    TENON_TRY(check.done());
    TENON_TRY(checkExtras(in, kName, epilogue, kFirstExtra, type));
    return type;
}

namespace
{
//! Columns [channels · window, outputs] of one image's channels; elements outside are 0.
void layColumns(double* columns, double const* x, int64_t channels, std::vector<int64_t> const& in,
    std::vector<int64_t> const& out, Window const& window)
{
    int64_t const outputs = volumeOf(out);
    int64_t const image = volumeOf(in);
    std::vector<int64_t> const strides = stridesOf(in);
    size_t const rank = window.rank();
    std::vector<int64_t> pre;
    for (size_t axis = 0; axis < rank; ++axis)
        pre.push_back(window.padding(axis, in[axis]).pre);
    size_t const last = rank - 1;
    std::vector<int64_t> rows(out.begin(), out.end() - 1);
    for (int64_t c = 0; c < channels; ++c)
        forEachPosition(window.size, [&](int64_t tap, std::vector<int64_t> const& k) {
            double* to = columns + (c * volumeOf(window.size) + tap) * outputs;
            forEachPosition(rows, [&](int64_t row, std::vector<int64_t> const& at) {
                int64_t from{c * image};
                bool inside{true};
                for (size_t axis = 0; axis < last; ++axis)
                {
                    int64_t const p = at[axis] * window.stride[axis] + k[axis] * window.dilation[axis] - pre[axis];
                    inside = inside && p >= 0 && p < in[axis];
                    from += p * strides[axis];
                }
                int64_t const first = k[last] * window.dilation[last] - pre[last];
                for (int64_t o = 0; o < out[last]; ++o)
                {
                    int64_t const p = first + o * window.stride[last];
                    to[row * out[last] + o] = inside && p >= 0 && p < in[last] ? x[from + p] : 0.0;
                }
            });
        });
}
} // namespace

Result<std::vector<HostTensor>> Convolution::reference(HostTensors const& in) const
{
    HostTensor out = TENON_TRY(outputOf(*this, in));
    HostTensor const& x = *in[0];
    HostTensor const& kernel = *in[1];
    HostTensor const* bias = in.size() > 2 ? in[2] : nullptr;
    Window const window = this->window();
    std::vector<int64_t> const inSpace(x.extents.begin() + 2, x.extents.end());
    std::vector<int64_t> const outSpace(out.extents.begin() + 2, out.extents.end());
    int64_t const channels = x.extents[1] / nbGroups;
    int64_t const maps = nbOutputMaps / nbGroups;
    int64_t const depth = channels * volumeOf(window.size);
    int64_t const outputs = volumeOf(outSpace);
    std::vector<double> columns(static_cast<size_t>(depth * outputs));
    for (int64_t image = 0; image < x.extents[0]; ++image)
        for (int64_t group = 0; group < nbGroups; ++group)
        {
            layColumns(columns.data(), x.reals.data() + (image * x.extents[1] + group * channels) * volumeOf(inSpace),
                channels, inSpace, outSpace, window);
            double* to = out.reals.data() + (image * nbOutputMaps + group * maps) * outputs;
            for (int64_t m = 0; bias != nullptr && m < maps; ++m)
                std::fill(to + m * outputs, to + (m + 1) * outputs, bias->real(group * maps + m));
            multiplyAdd(to, kernel.reals.data() + group * maps * depth, columns.data(), maps, depth, outputs);
        }
    return oneOutput(TENON_TRY(applyEpilogue(epilogue, out.dtype, out, in, kFirstExtra)));
}

} // namespace tenon
