// Large products on a Hopper GPU against the reference: every tactic, with sizes that no tile divides.
#include "backends/cuda_cases.h"
#include "layers/convolution.h"
#include "layers/matrix_multiply.h"

namespace tenon::test
{

namespace
{
using nvinfer1::MatrixOperation;

constexpr int64_t kLargeTactics{3};

class LargeProducts : public CudaKernels
{
};

struct LargeCase
{
    int64_t rows;
    int64_t depth;
    int64_t columns;
    MatrixOperation order;
    bool hasBias;
    std::vector<EpilogueStep> steps;
    DType type;
    std::vector<int64_t> batch{1}; //!< Matrices of a under each other.
};

void expectLarge(LargeCase const& of)
{
    std::string const trace = fmt::format("{} x {} x {}, {}, {} steps", of.rows, of.columns, of.depth,
        of.order == MatrixOperation::kTRANSPOSE ? "columns" : "rows", of.steps.size());
    SCOPED_TRACE(trace);
    MatrixMultiply layer;
    layer.operation1 = of.order;
    layer.epilogue.steps = of.steps;
    auto const real = [&](std::vector<int64_t> extents) {
        return randomTensor(std::move(extents), -1.0, 1.0, of.type);
    };
    auto const rowsOf = [&](int64_t columns) {
        std::vector<int64_t> extents = of.batch;
        extents.insert(extents.end(), {of.rows, columns});
        return extents;
    };
    std::vector<int64_t> b(of.batch.size(), 1);
    b.insert(b.end(), {of.depth, of.columns});
    if (of.order == MatrixOperation::kTRANSPOSE)
        std::swap(b[b.size() - 2], b.back());
    std::vector<Operand> operands{
        input(real(rowsOf(of.depth))), weight(real(std::move(b))), of.hasBias ? weight(real({of.columns})) : absent()};
    for (int32_t i = 0; i < layer.epilogue.extraInputs(); ++i)
        operands.push_back(input(real(rowsOf(of.columns))));
    std::vector<Offer> const offers = tacticsOf("large tiles", kLargeTactics, operands.size(), Layout::kLinear);
    expectOffers(makeLayer(std::move(layer)), std::move(operands), offers, sumTolerance(of.type));
}
} // namespace

TEST_F(LargeProducts, edgesAndOrders)
{
    constexpr auto kRows = MatrixOperation::kNONE;
    constexpr auto kColumns = MatrixOperation::kTRANSPOSE;
    expectLarge({130, 72, 200, kRows, true, {}, DType::kHALF});
    expectLarge({130, 72, 200, kColumns, false, {}, DType::kHALF});
    expectLarge({1, 8, 8, kRows, false, {}, DType::kHALF});
    expectLarge({7, 200, 264, kColumns, true, {}, DType::kBF16});
    expectLarge({70, 64, 392, kRows, true, {}, DType::kBF16, {3}});
}

TEST_F(LargeProducts, epilogues)
{
    constexpr auto kRows = MatrixOperation::kNONE;
    constexpr auto kColumns = MatrixOperation::kTRANSPOSE;
    expectLarge({150, 40, 136, kRows, true, {{EpilogueKind::kGeluErf}}, DType::kHALF});
    expectLarge({150, 40, 136, kColumns, true, {{EpilogueKind::kGeluTanh}}, DType::kBF16});
    expectLarge({150, 40, 136, kColumns, false, {{EpilogueKind::kSilu}}, DType::kHALF});
    expectLarge({300, 40, 264, kRows, true, {{EpilogueKind::kAdd}}, DType::kHALF});
    expectLarge({150, 40, 264, kRows, true, {{EpilogueKind::kGeluErf}, {EpilogueKind::kAdd}}, DType::kBF16});
    expectLarge({150, 40, 136, kColumns, true,
        {{EpilogueKind::kMultiply}, {EpilogueKind::kRelu}, {EpilogueKind::kAdd}, {EpilogueKind::kSigmoid}},
        DType::kHALF});
}

//! More tiles than a GPU has multiprocessors, an even and an odd number for each: blocks go from tile to tile.
TEST_F(LargeProducts, manyTiles)
{
    expectLarge({128 * 50, 8, 1024, MatrixOperation::kTRANSPOSE, true, {{EpilogueKind::kAdd}}, DType::kHALF});
}

TEST_F(LargeProducts, ofSinglePixels)
{
    Convolution layer;
    layer.nbOutputMaps = 136;
    layer.kernelSize = nvinfer1::Dims2{1, 1};
    layer.epilogue.steps = {{EpilogueKind::kAdd}, {EpilogueKind::kRelu}};
    auto const real = [](std::vector<int64_t> extents) {
        return randomTensor(std::move(extents), -1.0, 1.0, DType::kHALF);
    };
    expectOffers(makeLayer(std::move(layer)),
        {input(real({3, 40, 9, 7})), weight(real({136, 40, 1, 1})), weight(real({136})), input(real({3, 136, 9, 7}))},
        tacticsOf("large tiles", kLargeTactics, 4, Layout::kChannelsLast), sumTolerance(DType::kHALF));
}

//! Numbers far from zero, where GELU is 0 or its operand, and near it.
TEST_F(LargeProducts, geluIsGoodToTheRoundingOfHalves)
{
    MatrixMultiply layer;
    layer.epilogue.steps = {{EpilogueKind::kGeluErf}};
    HostTensor a{DType::kHALF, {1024, 8}};
    HostTensor b{DType::kHALF, {8, 8}};
    for (int64_t i = 0; i < a.count(); ++i)
        a.set(i, i % 8 == 0 ? (static_cast<double>(i) / 8.0 - 512.0) / 64.0 : 0.0);
    for (int64_t i = 0; i < b.count(); ++i)
        b.set(i, i < 8 ? std::exp2(i == 7 ? 12.0 : -static_cast<double>(i)) : 0.0);
    expectOffers(makeLayer(std::move(layer)), {input(a), weight(b), absent()},
        tacticsOf("large tiles", kLargeTactics, 3, Layout::kLinear), {.absolute = 3e-7, .relative = 1.2e-3});
}

} // namespace tenon::test
