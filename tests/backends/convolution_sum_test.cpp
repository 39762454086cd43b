// Sums of two convolutions of single pixels on a GPU against the reference: every tile, strides of either, channels
// that end within a stage, and what the tiles leave to a thread per result.
#include "backends/cuda_cases.h"
#include "layers/convolution_sum.h"

namespace tenon::test
{

namespace
{
class ConvolutionSums : public CudaKernels
{
};

struct SumCase
{
    std::vector<int64_t> first;
    std::vector<int64_t> second;
    int64_t maps;
    std::vector<int64_t> firstStride{1, 1};
    std::vector<int64_t> secondStride{1, 1};
    bool hasBias{true};
    std::vector<EpilogueStep> steps{};
};

void expectSum(SumCase const& of, DType type, std::string const& candidate, std::vector<int64_t> const& tactics,
    Layout layout = Layout::kChannelsLast)
{
    SCOPED_TRACE(fmt::format("{} and {} channels, {}", of.first[1], of.second[1], nameOf(type)));
    auto const dims = [](std::vector<int64_t> const& values) { return nvinfer1::Dims2(values[0], values[1]); };
    ConvolutionSum layer;
    layer.nbOutputMaps = of.maps;
    layer.firstStride = dims(of.firstStride);
    layer.secondStride = dims(of.secondStride);
    layer.epilogue.steps = of.steps;
    std::vector<Operand> operands{input(randomTensor(of.first, -1.0, 1.0, type)),
        weight(randomTensor({of.maps, of.first[1] + of.second[1], 1, 1}, -0.5, 0.5, type)),
        of.hasBias ? weight(randomTensor({of.maps}, -1.0, 1.0, type)) : absent(),
        input(randomTensor(of.second, -1.0, 1.0, type))};
    std::vector<Offer> offers;
    for (int64_t const tactic : tactics)
    {
        Offer offer;
        offer.candidate = candidate;
        offer.inputs = {layout, Layout::kLinear, Layout::kLinear, layout};
        offer.outputs = {layout};
        offer.tactic = tactic;
        offers.push_back(std::move(offer));
    }
    Tolerance const tolerance = type == DType::kBF16 ? Tolerance{6e-2, 1.6e-2} : Tolerance{8e-3, 2e-3};
    expectOffers(makeLayer(layer), std::move(operands), offers, tolerance);
}

std::vector<SumCase> sumCases()
{
    EpilogueStep const relu{EpilogueKind::kRelu};
    return {
        {{2, 64, 9, 7}, {2, 128, 17, 14}, 72, {1, 1}, {2, 2}, true, {relu}}, // A shortcut as residual blocks have it.
        {{1, 128, 7, 7}, {1, 256, 7, 7}, 64},                                // Without strides,
        {{3, 64, 5, 6}, {3, 40, 13, 6}, 136, {1, 1}, {3, 1}, false, {relu}}, // with channels that end within a stage,
        {{2, 192, 11, 8}, {2, 72, 6, 8}, 40, {2, 1}, {1, 1}, true, {relu}},  // and with strides of the first.
        {{5, 64, 3, 3}, {5, 64, 5, 5}, 8, {1, 1}, {2, 2}},                   // A tile has pixels of many images.
        {{2, 128, 9, 10}, {2, 64, 13, 9}, 64, {2, 2}, {3, 2}},               // Both have strides.
    };
}
} // namespace

//! Every tile with some of the cases: each is a kernel of its own, whose text is compiled.
TEST_F(ConvolutionSums, byEarlyTiles)
{
    std::vector<std::vector<int64_t>> const tactics{{3, 16}, {9, 12}, {1, 15}, {13}, {7}, {8}};
    std::vector<SumCase> const cases = sumCases();
    for (size_t i = 0; i < cases.size(); ++i)
        expectSum(cases[i], i == 1 ? DType::kBF16 : DType::kHALF, "early tiles", tactics[i]);
}

TEST_F(ConvolutionSums, byLargeTiles)
{
    std::vector<std::vector<int64_t>> const tactics{{0, 3}, {1}, {2}, {0}, {3}, {0}};
    std::vector<SumCase> const cases = sumCases();
    for (size_t i = 0; i < cases.size(); ++i)
        expectSum(cases[i], i == 1 ? DType::kBF16 : DType::kHALF, "large tiles", tactics[i]);
}

TEST_F(ConvolutionSums, whatTilesDoNotTake)
{
    EpilogueStep const relu{EpilogueKind::kRelu};
    SumCase const narrow{{2, 24, 5, 4}, {2, 10, 9, 8}, 12, {1, 1}, {2, 2}, true, {relu}};
    expectSum(narrow, DType::kHALF, "early tiles", {0});
    expectSum(narrow, DType::kBF16, "large tiles", {0});
    for (Layout const layout : {Layout::kLinear, Layout::kChannelsLast})
        expectSum(narrow, DType::kFLOAT, "direct", {0}, layout);
}

} // namespace tenon::test
