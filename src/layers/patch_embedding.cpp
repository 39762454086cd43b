// PatchEmbedding: rules and reference.
#include "layers/patch_embedding.h"

#include "layers/check.h"
#include "layers/shape_values.h"

#include <algorithm>

namespace tenon
{

namespace
{
constexpr size_t kAxes{2};

//! How many windows an image has; none where its extents are not known.
std::optional<int64_t> windowsOf(Shape const& image, nvinfer1::Dims const& patch)
{
    int64_t windows{1};
    for (size_t axis = 0; axis < kAxes; ++axis)
    {
        std::optional<int64_t> const extent = image[2 + axis].constant();
        if (!extent)
            return std::nullopt;
        windows *= *extent / patch.d[axis];
    }
    return windows;
}
} // namespace

Result<Done> PatchEmbedding::verify() const
{
    if (patch.nbDims != static_cast<int32_t>(kAxes)
        || !std::all_of(patch.d, patch.d + kAxes, [](int64_t extent) { return extent > 0; }))
        return badArgument("its windows are none of two axes");
    return convolution(1).verify();
}

Convolution PatchEmbedding::convolution(int64_t maps) const
{
    Convolution conv;
    conv.nbOutputMaps = maps;
    conv.kernelSize = conv.stride = patch;
    return conv;
}

Result<TensorType> PatchEmbedding::infer(Inputs const& in) const
{
    constexpr int32_t kImageRank{4};
    constexpr int32_t kTableRank{3};
    Check check{in, kName};
    TENON_TRY(check.fields(verify()).count(kTable + 1).done());
    TENON_TRY(check.floating(1)
                  .rank(0, kImageRank)
                  .rank(1, kImageRank)
                  .rank(kTable, kTableRank)
                  .sameType(kTable, 1)
                  .that(in.type(0).dtype == DType::kFLOAT || in.type(0).dtype == in.type(1).dtype,
                      "takes images in float32 or in the type of its weights")
                  .done());
    Shape const& image = in.type(0).shape;
    Shape const& kernel = in.type(1).shape;
    Shape const& table = in.type(kTable).shape;
    check.extent(1, 1, image[1]).extent(kTable, 0, ShapeExpr{1}).extent(kTable, 2, kernel[0]);
    for (size_t axis = 0; axis < kAxes; ++axis)
        check.extent(1, static_cast<int32_t>(2 + axis), ShapeExpr{patch.d[axis]});
    TENON_TRY(check.done());
    std::optional<int64_t> const windows = windowsOf(image, patch);
    std::optional<int64_t> const rows = table[1].constant();
    check.that(windows && rows && *windows <= *rows, "takes images whose windows are known, and a row for each");
    TENON_TRY(check.done());
    return TensorType{in.type(1).dtype, {image[0], table[1], kernel[0]}};
}

Result<std::vector<HostTensor>> PatchEmbedding::reference(HostTensors const& in) const
{
    HostTensor out = TENON_TRY(outputOf(*this, in));
    HostTensor const& kernel = *in[1];
    HostTensor image{kernel.dtype, in[0]->extents};
    for (int64_t i = 0; i < image.count(); ++i)
        image.set(i, in[0]->real(i));
    int64_t const maps = out.extents[2];
    std::vector<HostTensor> const made = TENON_TRY(convolution(maps).reference({&image, &kernel}));
    HostTensor const& pixels = made.front();
    int64_t const rows = out.extents[1];
    int64_t const windows = pixels.extents[2] * pixels.extents[3];
    for (int64_t i = 0; i < out.count(); ++i)
    {
        int64_t const map = i % maps;
        int64_t const window = i / maps % rows - (rows - windows);
        double const own = window < 0 ? 0.0 : pixels.real((i / maps / rows * maps + map) * windows + window);
        out.set(i, own + in[kTable]->real(i % (rows * maps)));
    }
    return oneOutput(std::move(out));
}

} // namespace tenon
