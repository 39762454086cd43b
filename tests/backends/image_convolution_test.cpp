// First convolutions on a GPU, with the image's own type and a pooling behind.
#include "backends/cuda_cases.h"
#include "layers/image_convolution.h"

#include <limits>

namespace tenon::test
{

namespace
{
class ImageConvolutions : public CudaKernels
{
};

struct ImageCase
{
    std::vector<int64_t> x;
    int64_t maps;
    nvinfer1::Dims2 window;
    nvinfer1::Dims2 stride;
    nvinfer1::Dims2 pre;
    nvinfer1::Dims2 post;
    std::vector<EpilogueStep> steps{};
    int32_t pool{0}; //!< Window and, halved and rounded up, stride; 0: none.
    int32_t poolPadding{0};
    bool hasBias{true};
    bool isConstant{true};
};

ImageConvolution layerOf(ImageCase const& of)
{
    ImageConvolution layer;
    layer.product.nbOutputMaps = of.maps;
    layer.product.kernelSize = of.window;
    layer.product.stride = of.stride;
    layer.product.prePadding = of.pre;
    layer.product.postPadding = of.post;
    layer.product.epilogue.steps = of.steps;
    if (of.pool == 0)
        return layer;
    layer.pooling.windowSize = nvinfer1::Dims2(of.pool, of.pool);
    layer.pooling.stride = nvinfer1::Dims2((of.pool + 1) / 2, (of.pool + 1) / 2);
    layer.pooling.prePadding = layer.pooling.postPadding = nvinfer1::Dims2(of.poolPadding, of.poolPadding);
    return layer;
}

std::vector<Offer> offersFor(size_t operands)
{
    std::vector<Offer> offers;
    for (Layout const layout : {Layout::kLinear, Layout::kChannelsLast})
    {
        Offer offer;
        offer.candidate = "image tiles";
        offer.inputs.assign(operands, Layout::kLinear);
        offer.inputs[0] = layout;
        offer.outputs = {Layout::kChannelsLast};
        offers.push_back(std::move(offer));
    }
    return offers;
}

void expectImages(ImageCase const& of, HostTensor const& image, DType type)
{
    SCOPED_TRACE(fmt::format("{} from {}, {} maps", nameOf(type), nameOf(image.dtype), of.maps));
    HostTensor kernel = randomTensor({of.maps, of.x[1], of.window.d[0], of.window.d[1]}, -0.5, 0.5, type);
    std::vector<Operand> operands{input(image), of.isConstant ? weight(kernel) : input(kernel),
        of.hasBias ? weight(randomTensor({of.maps}, -1.0, 1.0, type)) : absent()};
    Tolerance const tolerance = type == DType::kHALF ? Tolerance{4e-3, 2e-3} : Tolerance{3e-2, 1.6e-2};
    ImageConvolution const layer = layerOf(of);
    expectOffers(makeLayer(layer), operands, offersFor(operands.size()), tolerance);
    if (image.dtype == type && !layer.isPooled())
        expectOffers(makeLayer(Convolution{layer.product}), operands, offersFor(operands.size()), tolerance);
}

//! Each is a kernel of its own, whose text is compiled: not every case has every type.
void expectImages(ImageCase const& of, DType from = DType::kFLOAT, DType type = DType::kHALF)
{
    expectImages(of, randomTensor(of.x, -1.0, 1.0, from), type);
}
} // namespace

TEST_F(ImageConvolutions, ofNetworks)
{
    EpilogueStep const relu{EpilogueKind::kRelu};
    constexpr DType kHalf{DType::kHALF};
    expectImages({{1, 3, 61, 66}, 64, {7, 7}, {2, 2}, {3, 3}, {3, 3}, {relu}, 3, 1});
    expectImages({{2, 3, 35, 40}, 32, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {{EpilogueKind::kSilu}}}, kHalf);
    expectImages({{1, 3, 32, 33}, 16, {3, 3}, {2, 2}, {0, 0}, {1, 1}, {{EpilogueKind::kClip, 0.0F, 6.0F}}},
        DType::kFLOAT, DType::kBF16);
    expectImages({{1, 3, 24, 36}, 96, {4, 4}, {4, 4}, {0, 0}, {0, 0}}, DType::kBF16, DType::kBF16); // Two groups.
}

//! Windows of odd numbers of chunks, tiles cut at both edges, maps that fill no piece, pools that reach beyond.
TEST_F(ImageConvolutions, ofAllForms)
{
    EpilogueStep const relu{EpilogueKind::kRelu};
    constexpr DType kHalf{DType::kHALF};
    expectImages({{2, 1, 20, 41}, 10, {3, 5}, {2, 2}, {2, 2}, {2, 2}, {relu}, 2, 0});
    expectImages({{1, 2, 19, 40}, 70, {5, 6}, {1, 2}, {0, 3}, {4, 1}, {}, 3, 1}, DType::kFLOAT, DType::kBF16);
    expectImages({{1, 4, 17, 9}, 8, {1, 1}, {3, 4}, {0, 0}, {0, 0}, {}, 0, 0, false}, kHalf);
    expectImages({{1, 3, 40, 38}, 33, {8, 8}, {4, 2}, {7, 7}, {7, 7}, {relu}, 4, 2});
    expectImages({{1, 3, 5, 5}, 64, {7, 7}, {2, 2}, {3, 3}, {3, 3}, {}, 3, 1}, kHalf);
    expectImages({{1, 3, 23, 20}, 24, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {relu}, 3, 0, true, false});
    expectImages({{2, 3, 37, 45}, 61, {5, 5}, {3, 2}, {2, 2}, {2, 2}, {relu}, 0, 0, true, false});
}

//! Windows side by side: rows of images whose addresses are odd, columns that are in no window, one channel.
TEST_F(ImageConvolutions, ofPatches)
{
    auto const expectPatches = [](ImageCase const& of, DType from, DType type) {
        SCOPED_TRACE(fmt::format("{} from {}, {} maps", nameOf(type), nameOf(from), of.maps));
        std::vector<Operand> operands{input(randomTensor(of.x, -1.0, 1.0, from)),
            weight(randomTensor({of.maps, of.x[1], of.window.d[0], of.window.d[1]}, -0.5, 0.5, type)),
            of.hasBias ? weight(randomTensor({of.maps}, -1.0, 1.0, type)) : absent()};
        Tolerance const tolerance = type == DType::kHALF ? Tolerance{2e-2, 2e-3} : Tolerance{1.5e-1, 1.6e-2};
        Offer offer = offersFor(operands.size()).front();
        offer.candidate = "patches";
        std::vector<Offer> offers;
        for (int64_t const tactic : {0, 64, 128}) // The library, early and large tiles.
        {
            offers.push_back(offer);
            offers.back().tactic = tactic;
        }
        expectOffers(makeLayer(layerOf(of)), operands, offers, tolerance);
        if (from == type)
            expectOffers(makeLayer(Convolution{layerOf(of).product}), operands, offers, tolerance);
    };
    EpilogueStep const relu{EpilogueKind::kRelu};
    expectPatches({{2, 3, 32, 48}, 24, {16, 16}, {16, 16}, {0, 0}, {0, 0}}, DType::kFLOAT, DType::kHALF);
    expectPatches({{1, 3, 21, 35}, 16, {4, 8}, {4, 8}, {0, 0}, {0, 0}, {relu}}, DType::kFLOAT, DType::kBF16);
    expectPatches({{3, 1, 9, 26}, 8, {1, 24}, {1, 24}, {0, 0}, {0, 0}, {}, 0, 0, false}, DType::kHALF, DType::kHALF);
}

//! An infinite pixel is in its windows' results alone.
TEST_F(ImageConvolutions, infinitePixels)
{
    HostTensor image = randomTensor({1, 3, 30, 34});
    image.set(7 * 34 + 12, std::numeric_limits<double>::infinity());
    expectImages({image.extents, 32, {3, 3}, {2, 2}, {1, 1}, {1, 1}}, image, DType::kHALF);
    expectImages({image.extents, 32, {7, 7}, {2, 2}, {3, 3}, {3, 3}}, image, DType::kBF16);
    EpilogueStep const relu{EpilogueKind::kRelu};
    expectImages({image.extents, 64, {7, 7}, {2, 2}, {3, 3}, {3, 3}, {relu}, 3, 1}, image, DType::kHALF);
    expectImages({image.extents, 100, {5, 5}, {2, 2}, {2, 2}, {2, 2}}, image, DType::kBF16); // Odd chunks.
}

} // namespace tenon::test
