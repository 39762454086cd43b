// Squeeze and excite on a GPU: gates of channels and convolutions of gated images, and the products of little depth and
// depthwise tiles beside them, by every offer.
#include "backends/cuda_cases.h"
#include "layers/channel_gate.h"
#include "layers/gated_convolution.h"

namespace tenon::test
{

namespace
{
class ChannelGates : public CudaKernels
{
};

constexpr DType kHalves[]{DType::kHALF, DType::kBF16};

Tolerance toleranceOfHalves(DType type)
{
    return type == DType::kHALF ? Tolerance{2e-3, 2e-3} : Tolerance{1.6e-2, 1.6e-2};
}

struct GateCase
{
    std::vector<int64_t> x;
    int64_t hidden;
    int64_t maps;
    bool hasBias;
};

void expectGate(GateCase const& of)
{
    for (DType const type : kHalves)
    {
        SCOPED_TRACE(nameOf(type));
        ChannelGate layer;
        layer.first.steps = {{EpilogueKind::kSilu}};
        layer.second.steps = {{EpilogueKind::kSigmoid}};
        std::vector<int64_t> first(of.x.size(), 1);
        first[0] = of.hidden;
        first[1] = of.x[1];
        std::vector<int64_t> second(of.x.size(), 1);
        second[0] = of.maps;
        second[1] = of.hidden;
        auto const bias = [&](int64_t count) {
            return of.hasBias ? weight(randomTensor({count}, -1.0, 1.0, type)) : absent();
        };
        // Means that are no near zeros: what a wrong share of the pixels would give differs.
        std::vector<Operand> operands{input(randomTensor(of.x, -1.0, 3.0, type)),
            weight(randomTensor(first, -0.5, 0.5, type)), weight(randomTensor(second, -1.0, 1.0, type)),
            bias(of.hidden), bias(of.maps)};
        expectKernels(makeLayer(layer), std::move(operands), "channel gate", toleranceOfHalves(type));
    }
}

struct GatedCase
{
    std::vector<int64_t> x;
    int64_t maps;
    bool isOfAll;
    std::vector<EpilogueStep> steps;
};

void expectGated(GatedCase const& of)
{
    for (DType const type : kHalves)
    {
        SCOPED_TRACE(nameOf(type));
        GatedConvolution layer;
        layer.product.nbOutputMaps = of.maps;
        layer.product.kernelSize.nbDims = static_cast<int32_t>(of.x.size()) - 2;
        std::fill_n(layer.product.kernelSize.d, layer.product.kernelSize.nbDims, 1);
        layer.product.epilogue.steps = of.steps;
        std::vector<int64_t> kernel(of.x.size(), 1);
        kernel[0] = of.maps;
        kernel[1] = of.x[1];
        std::vector<int64_t> gate(of.x.size(), 1);
        gate[0] = of.isOfAll ? 1 : of.x[0];
        gate[1] = of.x[1];
        std::vector<int64_t> out = of.x;
        out[1] = of.maps;
        std::vector<Operand> operands{input(randomTensor(of.x, -1.0, 1.0, type)),
            weight(randomTensor(kernel, -0.5, 0.5, type)), weight(randomTensor({of.maps}, -1.0, 1.0, type))};
        for (int32_t i = 0; i < layer.product.epilogue.extraInputs(); ++i)
            operands.push_back(input(randomTensor(out, -1.0, 1.0, type)));
        operands.push_back(input(randomTensor(gate, 0.0, 1.0, type)));
        Tolerance tolerance = toleranceOfHalves(type);
        tolerance.absolute *= 4.0; // Two roundings in front of sums of up to a few hundred numbers.
        expectKernels(makeLayer(layer), std::move(operands), "gated tiles", tolerance);
    }
}
} // namespace

TEST_F(ChannelGates, ofAllSizes)
{
    expectGate({{2, 96, 7, 7}, 4, 96, true});
    expectGate({{1, 32, 20, 19}, 8, 32, true});
    expectGate({{3, 144, 9, 5}, 6, 144, false});
    expectGate({{1, 1152, 7, 7}, 48, 1152, true}); // Slices of channels for all parts.
    expectGate({{2, 520, 3, 3}, 37, 264, true});   // Slices and shares of the maps of several sizes.
    expectGate({{2, 17, 5, 3}, 5, 23, true});      // No packs.
    expectGate({{1, 8, 1, 1}, 1, 1, false});
    expectGate({{1, 40, 11}, 10, 40, true});
    expectGate({{1, 16, 2, 3, 4}, 4, 16, true});
}

//! What is read of the kernels does not fit into shared memory, or there are more channels than threads.
TEST_F(ChannelGates, ofManyChannels)
{
    expectGate({{1, 1024, 2, 2}, 200, 1024, true});
    expectGate({{1, 4096, 1, 3}, 16, 4096, true});
    expectGate({{1, 1001, 3, 1}, 12, 777, true});
}

TEST_F(ChannelGates, inFrontOfConvolutions)
{
    expectGated({{2, 96, 9, 8}, 24, false, {}});
    expectGated({{1, 72, 15, 15}, 40, false, {{EpilogueKind::kAdd}}});
    expectGated({{3, 64, 7, 7}, 80, true, {{EpilogueKind::kRelu}}});
    expectGated({{5, 200, 5, 5}, 65, false, {{EpilogueKind::kAdd}, {EpilogueKind::kSilu}}}); // Tiles of many images.
    expectGated({{40, 16, 2, 1}, 8, false, {}});                                             // Of too many.
    expectGated({{2, 17, 10, 7}, 19, false, {{EpilogueKind::kMultiply}}});                   // No packs.
    expectGated({{9, 1152, 7, 7}, 16, false, {}});
    expectGated({{2, 24, 50}, 16, false, {}});
    expectGated({{1, 672, 8, 9}, 48, false, {{EpilogueKind::kAdd}}});   // By clusters that share the depth out.
    expectGated({{6, 328, 3, 9}, 112, false, {{EpilogueKind::kRelu}}}); // Parts of no whole stages, images in tiles.
    expectGated({{4, 480, 6, 6}, 80, true, {}});
}

//! By thin tiles: depths of several groups, images that end within a warp's rows, one gate for all.
TEST_F(ChannelGates, inFrontOfThinProducts)
{
    struct Thin
    {
        std::vector<int64_t> x;
        int64_t maps;
        bool isOfAll;
        std::vector<EpilogueStep> steps;
    };
    for (Thin const& each :
        {Thin{{2, 32, 9, 15}, 16, false, {}}, Thin{{3, 144, 5, 5}, 40, false, {{EpilogueKind::kAdd}}},
            Thin{{1, 96, 7, 6}, 24, true, {{EpilogueKind::kRelu}}}, Thin{{5, 240, 3, 3}, 72, false, {}},
            Thin{{2, 8, 4, 4}, 8, false, {{EpilogueKind::kAdd}, {EpilogueKind::kSilu}}}})
        for (DType const type : kHalves)
        {
            SCOPED_TRACE(fmt::format("{} channels, {}", each.x[1], nameOf(type)));
            GatedConvolution layer;
            layer.product.nbOutputMaps = each.maps;
            layer.product.kernelSize = nvinfer1::Dims2{1, 1};
            layer.product.epilogue.steps = each.steps;
            std::vector<Operand> operands{input(randomTensor(each.x, -1.0, 1.0, type)),
                weight(randomTensor({each.maps, each.x[1], 1, 1}, -0.5, 0.5, type)),
                weight(randomTensor({each.maps}, -1.0, 1.0, type))};
            for (int32_t i = 0; i < layer.product.epilogue.extraInputs(); ++i)
                operands.push_back(input(randomTensor({each.x[0], each.maps, each.x[2], each.x[3]}, -1.0, 1.0, type)));
            operands.push_back(input(randomTensor({each.isOfAll ? 1 : each.x[0], each.x[1], 1, 1}, 0.0, 1.0, type)));
            Offer offer; // Too few pixels to be offered by itself.
            offer.candidate = "gated tiles";
            offer.inputs.assign(operands.size(), Layout::kLinear);
            offer.inputs[0] = Layout::kChannelsLast;
            for (size_t i = 3; i + 1 < operands.size(); ++i)
                offer.inputs[i] = Layout::kChannelsLast;
            offer.outputs = {Layout::kChannelsLast};
            offer.tactic = 64;
            Tolerance tolerance = toleranceOfHalves(type);
            tolerance.absolute *= 4.0; // Two roundings in front of sums of up to a few hundred numbers.
            expectOffers(makeLayer(layer), std::move(operands), {offer}, tolerance);
        }
}

//! Few channels: depths of all groups, columns that leave some of a group, rows that fill no tile.
TEST_F(ChannelGates, productsOfLittleDepth)
{
    struct Thin
    {
        std::vector<int64_t> x;
        int64_t maps;
        std::vector<EpilogueStep> steps;
    };
    for (Thin const& each : {Thin{{1, 16, 9, 15}, 96, {{EpilogueKind::kSilu}}}, Thin{{2, 24, 13, 11}, 144, {}},
             Thin{{1, 40, 19, 17}, 40, {{EpilogueKind::kAdd}, {EpilogueKind::kRelu}}}, Thin{{1, 64, 5, 5}, 264, {}},
             Thin{{1, 8, 130, 2}, 8, {{EpilogueKind::kClip, 0.0F, 6.0F}}}, Thin{{1, 128, 3, 4}, 136, {}},
             Thin{{1, 80, 4, 9}, 480, {{EpilogueKind::kMultiply}, {EpilogueKind::kGeluErf}}}})
        for (DType const type : kHalves)
        {
            SCOPED_TRACE(fmt::format("{} channels, {}", each.x[1], nameOf(type)));
            Convolution layer;
            layer.nbOutputMaps = each.maps;
            layer.kernelSize = nvinfer1::Dims2{1, 1};
            layer.epilogue.steps = each.steps;
            std::vector<Operand> operands{input(randomTensor(each.x, -1.0, 1.0, type)),
                weight(randomTensor({each.maps, each.x[1], 1, 1}, -0.5, 0.5, type)),
                weight(randomTensor({each.maps}, -1.0, 1.0, type))};
            std::vector<int64_t> const out{each.x[0], each.maps, each.x[2], each.x[3]};
            for (int32_t i = 0; i < layer.epilogue.extraInputs(); ++i)
                operands.push_back(input(randomTensor(out, -1.0, 1.0, type)));
            Tolerance tolerance = toleranceOfHalves(type);
            tolerance.absolute *= 4.0;
            std::vector<Offer> offers; // Too few pixels to be offered by themselves.
            for (int64_t const tactic : {0, 1})
            {
                Offer offer;
                offer.candidate = "thin tiles";
                offer.inputs.assign(operands.size(), Layout::kChannelsLast);
                offer.inputs[1] = offer.inputs[2] = Layout::kLinear;
                offer.outputs = {Layout::kChannelsLast};
                offer.tactic = tactic;
                offers.push_back(std::move(offer));
            }
            expectOffers(makeLayer(layer), std::move(operands), offers, tolerance);
        }
}

//! Depthwise convolutions over tiles: channels that leave some of a slice, tiles cut at both edges, strides that leave
//! rows below the last window, windows that lie beside the image.
TEST_F(ChannelGates, stagedTiles)
{
    struct Tiled
    {
        std::vector<int64_t> x;
        int64_t size;
        int64_t stride;
        std::vector<EpilogueStep> steps;
    };
    for (Tiled const& each :
        {Tiled{{1, 104, 15, 9}, 3, 1, {{EpilogueKind::kSilu}}}, Tiled{{2, 40, 30, 33}, 5, 2, {}},
            Tiled{{1, 8, 14, 130}, 5, 1, {{EpilogueKind::kAdd}}}, Tiled{{1, 200, 7, 7}, 3, 2, {{EpilogueKind::kRelu}}}})
        for (DType const type : kHalves)
        {
            SCOPED_TRACE(fmt::format("{} channels, {}", each.x[1], nameOf(type)));
            Convolution layer;
            layer.nbOutputMaps = layer.nbGroups = each.x[1];
            layer.kernelSize = nvinfer1::Dims2(each.size, each.size);
            layer.stride = nvinfer1::Dims2(each.stride, each.stride);
            layer.prePadding = layer.postPadding = nvinfer1::Dims2(each.size / 2, each.size / 2);
            layer.epilogue.steps = each.steps;
            auto const shares = [&](int64_t extent) { return (extent - 1) / each.stride + 1; };
            std::vector<int64_t> const out{each.x[0], each.x[1], shares(each.x[2]), shares(each.x[3])};
            std::vector<Operand> operands{input(randomTensor(each.x, -1.0, 1.0, type)),
                weight(randomTensor({each.x[1], 1, each.size, each.size}, -0.5, 0.5, type)),
                weight(randomTensor({each.x[1]}, -1.0, 1.0, type))};
            for (int32_t i = 0; i < layer.epilogue.extraInputs(); ++i)
                operands.push_back(input(randomTensor(out, -1.0, 1.0, type)));
            std::vector<Offer> offers;
            for (int64_t const tactic : {4, 5}) // staged4, staged2
            {
                Offer offer;
                offer.candidate = "depthwise";
                offer.inputs.assign(operands.size(), Layout::kChannelsLast);
                offer.inputs[1] = offer.inputs[2] = Layout::kLinear;
                offer.outputs = {Layout::kChannelsLast};
                offer.tactic = tactic;
                offers.push_back(std::move(offer));
            }
            expectOffers(makeLayer(layer), std::move(operands), offers, toleranceOfHalves(type));
        }
}

} // namespace tenon::test
