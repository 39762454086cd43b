// ConvolutionSum: rules and reference.
#include "layers/convolution_sum.h"

#include "layers/check.h"
#include "layers/epilogue_rules.h"
#include "layers/shape_values.h"

namespace tenon
{

namespace
{
constexpr int32_t kAxes{2};

Convolution ofPixels(int64_t maps, nvinfer1::Dims const& stride)
{
    Convolution made;
    made.nbOutputMaps = maps;
    made.kernelSize = nvinfer1::Dims2{1, 1};
    made.stride = stride;
    return made;
}

//! Columns from there on of a filter of single pixels.
HostTensor columnsOf(HostTensor const& filter, int64_t first, int64_t count)
{
    int64_t const depth = filter.extents[1];
    HostTensor part{filter.dtype, {filter.extents[0], count, 1, 1}};
    for (int64_t i = 0; i < part.count(); ++i)
        part.set(i, filter.real(i / count * depth + first + i % count));
    return part;
}
} // namespace

Convolution ConvolutionSum::first() const
{
    return ofPixels(nbOutputMaps, firstStride);
}

Convolution ConvolutionSum::second() const
{
    return ofPixels(nbOutputMaps, secondStride);
}

Result<Done> ConvolutionSum::verify() const
{
    for (Convolution const& each : {first(), second()})
        TENON_TRY(each.verify());
    TENON_TRY(verifyEpilogue(epilogue));
    if (epilogue.extraInputs() != 0)
        return badArgument("its epilogue takes other tensors");
    return Done{};
}

Result<TensorType> ConvolutionSum::infer(Inputs const& in) const
{
    Check check{in, kName};
    check.fields(verify()).count(2, kSecond + 1).that(in.has(kSecond), "lacks the second images");
    TENON_TRY(check.done());
    check.floating(0).sameType(1, 0).sameType(2, 0).sameType(kSecond, 0);
    check.rank(0, kAxes + 2).rank(1, kAxes + 2).rank(2, 1).rank(kSecond, kAxes + 2).extent(2, 0, nbOutputMaps);
    TENON_TRY(check.done());
    auto const resultOf = [&](Convolution const& each, int32_t input) -> Result<TensorType> {
        TensorType filter = in.type(1);
        filter.shape[1] = in.type(input).shape[1];
        return each.infer(in.with({in[input], Input{.type = &filter, .name = kName}}));
    };
    TensorType const type = TENON_TRY(resultOf(first(), 0));
    TensorType const other = TENON_TRY(resultOf(second(), kSecond));
    for (int32_t axis = 0; axis < kAxes + 2; ++axis)
    {
        auto const at = static_cast<size_t>(axis);
        bool const isKnown = type.shape[at].isConstant() && other.shape[at].isConstant();
        check.that(!isKnown || type.shape[at] == other.shape[at], "adds results of extents {} and {} on axis {}",
            type.shape[at].show(), other.shape[at].show(), axis);
    }
    check.extent(1, 1, in.type(0).shape[1] + in.type(kSecond).shape[1]);
    TENON_TRY(check.done());
    return type;
}

Result<std::vector<HostTensor>> ConvolutionSum::reference(HostTensors const& in) const
{
    if (in.size() <= kSecond || in[0] == nullptr || in[1] == nullptr || in[kSecond] == nullptr)
        return badArgument("a sum of two convolutions lacks an operand");
    int64_t const channels = in[0]->extents[1];
    HostTensor const filters[]{
        columnsOf(*in[1], 0, channels), columnsOf(*in[1], channels, in[1]->extents[1] - channels)};
    std::vector<HostTensor> sum = TENON_TRY(first().reference({in[0], &filters[0], in[2]}));
    std::vector<HostTensor> const other = TENON_TRY(second().reference({in[kSecond], &filters[1]}));
    for (int64_t i = 0; i < sum.front().count(); ++i) // Not rounded between, as the product of both is not.
        sum.front().reals[static_cast<size_t>(i)] += other.front().real(i);
    return oneOutput(TENON_TRY(applyEpilogue(epilogue, sum.front().dtype, sum.front(), in, kSecond + 1)));
}

} // namespace tenon
