// Convolutions whose windows the copy engine of Hopper's GPUs fetches, by early and by large tiles, and those whose
// windows share the pixels that it fetches.
#include "backends/cuda_cases.h"
#include "layers/convolution.h"

namespace tenon::test
{

namespace
{
class EngineWindows : public CudaKernels
{
};

struct WindowCase
{
    std::vector<int64_t> x;
    int64_t maps;
    std::vector<int64_t> size;
    std::vector<int64_t> stride{1, 1};
    std::vector<int64_t> dilation{1, 1};
    std::vector<int64_t> pre{0, 0};
    std::vector<int64_t> post{0, 0};
    std::vector<EpilogueStep> steps{};
    bool hasBias{true};
};

Convolution layerOf(WindowCase const& of)
{
    auto const dims = [](std::vector<int64_t> const& values) { return nvinfer1::Dims2(values[0], values[1]); };
    Convolution layer;
    layer.nbOutputMaps = of.maps;
    layer.kernelSize = dims(of.size);
    layer.stride = dims(of.stride);
    layer.dilation = dims(of.dilation);
    layer.prePadding = dims(of.pre);
    layer.postPadding = dims(of.post);
    layer.epilogue.steps = of.steps;
    return layer;
}

void expectTiles(WindowCase const& of, DType type, std::string const& candidate, std::vector<int64_t> const& tactics)
{
    SCOPED_TRACE(fmt::format("{} channels, {}", of.x[1], nameOf(type)));
    Convolution const layer = layerOf(of);
    std::vector<Operand> operands{input(randomTensor(of.x, -1.0, 1.0, type)),
        weight(randomTensor({of.maps, of.x[1], of.size[0], of.size[1]}, -0.5, 0.5, type)),
        of.hasBias ? weight(randomTensor({of.maps}, -1.0, 1.0, type)) : absent()};
    std::vector<int64_t> out{of.x[0], of.maps};
    for (size_t axis = 0; axis < 2; ++axis)
        out.push_back(*layer.window().outputExtent(axis, ShapeExpr{of.x[axis + 2]}).constant());
    for (int32_t i = 0; i < layer.epilogue.extraInputs(); ++i)
        operands.push_back(input(randomTensor(out, -1.0, 1.0, type)));
    std::vector<Offer> offers; // Too few results to be offered by themselves.
    for (int64_t const tactic : tactics)
    {
        Offer offer;
        offer.candidate = candidate;
        offer.inputs.assign(operands.size(), Layout::kChannelsLast);
        offer.inputs[1] = offer.inputs[2] = Layout::kLinear;
        offer.outputs = {Layout::kChannelsLast};
        offer.tactic = tactic;
        offers.push_back(std::move(offer));
    }
    Tolerance const tolerance = type == DType::kHALF ? Tolerance{8e-3, 2e-3} : Tolerance{6e-2, 1.6e-2};
    expectOffers(makeLayer(layer), std::move(operands), offers, tolerance);
}

std::vector<WindowCase> windowCases()
{
    EpilogueStep const relu{EpilogueKind::kRelu};
    EpilogueStep const add{EpilogueKind::kAdd};
    return {
        {{2, 64, 9, 7}, 72, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {relu}},
        {{1, 128, 15, 14}, 64, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, {add, relu}}, // The last row has no window.
        {{3, 72, 6, 5}, 40, {1, 1}, {2, 2}}, {{1, 64, 9, 12}, 24, {5, 3}, {1, 1}, {1, 2}, {2, 0}, {1, 3}, {add}, false},
        {{5, 64, 3, 3}, 8, {2, 2}, {1, 3}, {1, 1}, {1, 1}, {0, 1}}, // A tile has windows of many images.
    };
}
} // namespace

//! Every tile with some of the cases: each is a kernel of its own, whose text is compiled.
TEST_F(EngineWindows, byEarlyTiles)
{
    std::vector<std::vector<int64_t>> const tactics{{3, 16}, {9, 12}, {0, 15}, {11, 13}, {14, 5}};
    std::vector<WindowCase> const cases = windowCases();
    for (size_t i = 0; i < cases.size(); ++i)
        expectTiles(cases[i], i == 1 ? DType::kBF16 : DType::kHALF, "early tiles", tactics[i]);
}

TEST_F(EngineWindows, byLargeTiles)
{
    std::vector<std::vector<int64_t>> const tactics{{3}, {0, 2}, {1}, {3}, {0}};
    std::vector<WindowCase> const cases = windowCases();
    for (size_t i = 0; i < cases.size(); ++i)
        expectTiles(cases[i], i == 1 ? DType::kBF16 : DType::kHALF, "large tiles", tactics[i]);
}

//! Each a kernel of its own: so many positions a warpgroup, by so many parts of the channels.
TEST_F(EngineWindows, thatSharePixels)
{
    constexpr int64_t kOfParts{16}; // Tactics, eight positions more each.
    EpilogueStep const relu{EpilogueKind::kRelu};
    EpilogueStep const add{EpilogueKind::kAdd};
    auto const of = [](std::vector<int64_t> x, int64_t maps, int64_t stride, std::vector<EpilogueStep> steps) {
        return WindowCase{std::move(x), maps, {3, 3}, {stride, stride}, {1, 1}, {1, 1}, {1, 1}, std::move(steps)};
    };
    auto const expectShared = [](WindowCase const& of, DType type, std::vector<int64_t> const& tactics) {
        expectTiles(of, type, "shared windows", tactics);
    };
    expectShared(of({2, 64, 9, 7}, 64, 1, {relu}), DType::kHALF, {0, 3, 6}); // A tile begins anywhere in a line.
    expectShared(of({1, 128, 15, 14}, 128, 2, {}), DType::kBF16, {1, kOfParts + 2});
    expectShared(of({3, 256, 7, 7}, 64, 1, {add, relu}), DType::kHALF, {kOfParts, 2 * kOfParts + 3});
    expectShared(of({2, 512, 5, 4}, 64, 2, {relu}), DType::kHALF, {3 * kOfParts}); // Parts that finish nothing.
    expectShared(of({5, 64, 1, 2}, 128, 1, {}), DType::kHALF, {1});
    WindowCase bare = of({1, 192, 6, 31}, 64, 1, {});
    bare.hasBias = false;
    expectShared(bare, DType::kBF16, {4});
    expectShared(of({1, 64, 5, 6}, 72, 1, {}), DType::kHALF, {0}); // Others make what a tile has no maps for.
}

TEST_F(EngineWindows, singlePixelsByEarlyTiles)
{
    EpilogueStep const relu{EpilogueKind::kRelu};
    expectTiles(
        {{2, 40, 7, 9}, 104, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, {relu}}, DType::kHALF, "early tiles", {2, 15});
    expectTiles({{1, 200, 5, 5}, 64, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, {{EpilogueKind::kAdd}, relu}},
        DType::kBF16, "early tiles", {14});
}

} // namespace tenon::test
