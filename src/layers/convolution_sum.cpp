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

//! Pixels that a stride meets, put into channels from there on.
void putPixels(HostTensor& to, int64_t channel, HostTensor const& from, Window const& window)
{
    int64_t const channels = from.extents[1];
    for (int64_t i = 0; i < to.extents[0] * channels * to.extents[2] * to.extents[3]; ++i)
    {
        int64_t const x = i % to.extents[3];
        int64_t const y = i / to.extents[3] % to.extents[2];
        int64_t const c = i / (to.extents[3] * to.extents[2]) % channels;
        int64_t const n = i / (to.extents[3] * to.extents[2] * channels);
        int64_t const source = ((n * channels + c) * from.extents[2] + y * window.stride[0]) * from.extents[3];
        int64_t const place = ((n * to.extents[1] + channel + c) * to.extents[2] + y) * to.extents[3] + x;
        to.reals[static_cast<size_t>(place)] = from.real(source + x * window.stride[1]);
    }
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
    HostTensor const out = TENON_TRY(outputOf(*this, in));
    HostTensor const& filter = *in[1];
    HostTensor pixels{filter.dtype, {out.extents[0], filter.extents[1], out.extents[2], out.extents[3]}};
    putPixels(pixels, 0, *in[0], first().window());
    putPixels(pixels, in[0]->extents[1], *in[kSecond], second().window());
    Convolution joint = ofPixels(nbOutputMaps, {});
    joint.epilogue = epilogue;
    return joint.reference({&pixels, in[1], in[2]});
}

} // namespace tenon
