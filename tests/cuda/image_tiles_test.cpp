// First convolutions over more than 32 bits of elements: what the kernel counts is one image, and tiles of all.
#include "backends/rows.h"
#include "cuda/fake_device.h"
#include "ir/host_tensor.h"
#include "layers/image_convolution.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace tenon::test
{

namespace
{
//! Whether a 7 × 7 convolution of stride 2 is made ready for such images; nothing runs.
Result<Done> prepareImages(int64_t images, int64_t height, int64_t width)
{
    constexpr int64_t kMaps{64};
    auto const all = allBackends();
    BackendEntry const& gpu = *std::ranges::find(all, std::string_view{"cuda"}, &BackendEntry::name);
    ImageConvolution layer;
    layer.product.nbOutputMaps = kMaps;
    layer.product.kernelSize = nvinfer1::Dims2{7, 7};
    layer.product.stride = nvinfer1::Dims2{2, 2};
    layer.product.prePadding = layer.product.postPadding = nvinfer1::Dims2{3, 3};
    std::vector<int64_t> const in{images, 3, height, width};
    std::vector<int64_t> const out{images, kMaps, height / 2, width / 2};
    HostTensor const filter{DType::kHALF, {kMaps, 3, 7, 7}};
    Graph graph;
    ValueId const x = graph.addInput("x", {DType::kFLOAT, shapeOf(in)});
    ValueId const w = graph.addConstant("w", filter.toConstant());
    NodeId const node = TENON_TRY(graph.addNode(makeLayer(layer), "layer", {x, w}));
    Target const target = gpu.target(0);
    Offer offer;
    offer.candidate = "image tiles";
    offer.inputs.assign(2, Layout::kLinear);
    offer.outputs = {Layout::kChannelsLast};
    KernelSpec const spec = TENON_TRY(gpu.backend().build({&graph, &graph.node(node), {}, &target}, offer));
    std::vector<std::byte> const bytes(static_cast<size_t>(filter.count()) * 2);
    std::vector<WeightArg> weights(2);
    weights[1] = {bytes.data(), bytes.size(), DType::kHALF, filter.extents, {}};
    std::unique_ptr<Kernel> const kernel =
        TENON_TRY(gpu.device(0).load({.kernel = spec.kernel, .args = spec.args, .weights = weights}));
    std::vector<TensorArg> const inputs{
        {DType::kFLOAT, Layout::kLinear, in}, {DType::kHALF, Layout::kLinear, filter.extents}};
    TensorArg const result{DType::kHALF, Layout::kChannelsLast, out};
    static_cast<void>(TENON_TRY(kernel->prepare(inputs, {&result, 1}, 1)));
    return Done{};
}
} // namespace

TEST(ImageTiles, imagesTogetherMayHaveMoreElementsThanOneMay)
{
    auto const many = prepareImages(150, 2160, 3840);
    EXPECT_TRUE(many) << many.error().message;
    auto const one = prepareImages(1, 40000, 40000);
    ASSERT_FALSE(one);
    EXPECT_THAT(one.error().message, testing::HasSubstr("25600000000 elements of an image"));
}

} // namespace tenon::test
