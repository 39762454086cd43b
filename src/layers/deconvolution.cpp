// Deconvolution: rules, and a reference that multiplies and adds each product where it belongs.
#include "layers/deconvolution.h"

#include "layers/contiguous_math.h"
#include "layers/epilogue_rules.h"
#include "layers/positions.h"
#include "layers/shape_values.h"

#include <algorithm>

namespace tenon
{

Window Deconvolution::window() const
{
    return Window::of(kernelSize, stride, dilation, prePadding, postPadding, paddingMode);
}

Result<Done> Deconvolution::verify() const
{
    TENON_TRY(window().verify());
    TENON_TRY(verifyEpilogue(epilogue));
    if (nbOutputMaps < 1 || nbGroups < 1 || nbOutputMaps % nbGroups != 0)
        return badArgument("{} output maps in {} groups", nbOutputMaps, nbGroups);
    return Done{};
}

WithBatch Deconvolution::withBatch(SampleInputs const&) const
{
    return {makeLayer(*this), {BatchUse::kBroadcast, BatchUse::kShared, BatchUse::kShared}, {}};
}

bool Deconvolution::lacksBatch(Inputs const& in) const
{
    return in.has(0) && in.type(0).rank() == static_cast<int32_t>(window().rank()) + 1;
}

Result<TensorType> Deconvolution::infer(Inputs const& in) const
{
    TENON_TRY(Check(in, kName).fields(verify()).count(2, kFirstExtra + epilogue.extraInputs()).done());
    Window const window = this->window();
    auto const rank = static_cast<int32_t>(window.rank()) + 2;
    Check check{in, kName};
    check.floating(0).rank(0, rank).sameType(1, 0).rank(1, rank).sameType(2, 0).rank(2, 1);
    TENON_TRY(check.done());
    Shape const& x = in.type(0).shape;
    check.extent(1, 0, x[1]).extent(1, 1, nbOutputMaps / nbGroups).extent(2, 0, nbOutputMaps);
    if (x[1].isConstant())
        check.input(0, *x[1].constant() % nbGroups == 0, "has {} channels, which {} groups do not divide", x[1].show(),
            nbGroups);
    ShapeExpr const& rows = in.type(1).shape[0]; // As many, which the run may be the first to tell of the input.
    if (rows.isConstant())
        check.input(1, *rows.constant() % nbGroups == 0, "is for {} channels, which {} groups do not divide",
            rows.show(), nbGroups);
    TensorType type{in.type(0).dtype, {x[0], nbOutputMaps}};
    for (size_t axis = 0; axis < window.rank(); ++axis)
    {
        check.extent(1, static_cast<int32_t>(axis) + 2, window.size[axis]);
        ShapeExpr extent = window.transposedExtent(axis, x[axis + 2]);
        check.that(!extent.isConstant() || *extent.constant() >= 0, "the output extent {} on axis {} is negative",
            extent.show(), axis + 2);
        type.shape.push_back(std::move(extent));
    }
    TENON_TRY(check.done());
    TENON_TRY(checkExtras(in, kName, epilogue, kFirstExtra, type));
    return type;
}

namespace
{
//! Adds columns [maps · window, inputs] to the maps of one image.
void addColumns(double* y, double const* columns, int64_t maps, std::vector<int64_t> const& in,
    std::vector<int64_t> const& out, Window const& window)
{
    int64_t const inputs = volumeOf(in);
    std::vector<int64_t> const strides = stridesOf(out);
    std::vector<int64_t> pre;
    for (size_t axis = 0; axis < window.rank(); ++axis)
        pre.push_back(window.transposedPadding(axis).pre);
    for (int64_t m = 0; m < maps; ++m)
        forEachPosition(window.size, [&](int64_t tap, std::vector<int64_t> const& k) {
            double const* from = columns + (m * volumeOf(window.size) + tap) * inputs;
            forEachPosition(in, [&](int64_t position, std::vector<int64_t> const& at) {
                int64_t to{m * volumeOf(out)};
                for (size_t axis = 0; axis < at.size(); ++axis)
                {
                    int64_t const p = at[axis] * window.stride[axis] + k[axis] * window.dilation[axis] - pre[axis];
                    if (p < 0 || p >= out[axis])
                        return;
                    to += p * strides[axis];
                }
                y[to] += from[position];
            });
        });
}
} // namespace

Result<std::vector<HostTensor>> Deconvolution::reference(HostTensors const& in) const
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
    int64_t const rows = maps * volumeOf(window.size);
    int64_t const inputs = volumeOf(inSpace);
    int64_t const outputs = volumeOf(outSpace);
    std::vector<double> turned(static_cast<size_t>(rows * channels));
    for (int64_t image = 0; image < x.extents[0]; ++image)
        for (int64_t group = 0; group < nbGroups; ++group)
        {
            transposeInto(turned.data(), kernel.reals.data() + group * channels * rows, channels, rows);
            std::vector<double> columns(static_cast<size_t>(rows * inputs), 0.0);
            multiplyAdd(columns.data(), turned.data(),
                x.reals.data() + (image * x.extents[1] + group * channels) * inputs, rows, channels, inputs);
            double* to = out.reals.data() + (image * nbOutputMaps + group * maps) * outputs;
            for (int64_t m = 0; bias != nullptr && m < maps; ++m)
                std::fill(to + m * outputs, to + (m + 1) * outputs, bias->real(group * maps + m));
            addColumns(to, columns.data(), maps, inSpace, outSpace, window);
        }
    return oneOutput(TENON_TRY(applyEpilogue(epilogue, out.dtype, out, in, kFirstExtra)));
}

} // namespace tenon
