// Products of few rows with weights on a Hopper GPU against the reference: every tactic, with sizes that no tile
// divides.
#include "backends/cuda_cases.h"
#include "layers/matrix_multiply.h"

namespace tenon::test
{

namespace
{
using nvinfer1::MatrixOperation;

class EarlyProducts : public CudaKernels
{
};

struct EarlyCase
{
    int64_t rows;
    int64_t depth;
    int64_t columns;
    MatrixOperation order{MatrixOperation::kNONE};
    bool hasBias{true};
    std::vector<EpilogueStep> steps{};
    DType type{DType::kHALF};
    bool isBiasConstant{true};
};

void expectEarly(EarlyCase const& of, bool isByOtherTiles = false)
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
    std::vector<int64_t> b{of.depth, of.columns};
    if (of.order == MatrixOperation::kTRANSPOSE)
        std::swap(b[0], b[1]);
    Operand const bias{real({of.columns}), of.isBiasConstant};
    std::vector<Operand> operands{input(real({of.rows, of.depth})), weight(real(b)), of.hasBias ? bias : absent()};
    for (int32_t i = 0; i < layer.epilogue.extraInputs(); ++i)
        operands.push_back(input(real({of.rows, of.columns})));
    std::vector<Offer> const offers = isByOtherTiles
        ? otherTiles("early tiles", operands.size())
        : tacticsOf("early tiles", kSomeTiles, operands.size(), Layout::kLinear);
    expectOffers(makeLayer(std::move(layer)), std::move(operands), offers, sumTolerance(of.type));
}
} // namespace

TEST_F(EarlyProducts, rowsAndEdges)
{
    for (int64_t const rows : {1, 7, 16, 63, 64, 65, 127, 129, 197, 300})
        expectEarly({rows, 72, 104});
    expectEarly({1, 8, 8});
    expectEarly({3, 8, 1000});
    expectEarly({130, 264, 8, MatrixOperation::kTRANSPOSE, false});
    expectEarly({33, 136, 200, MatrixOperation::kTRANSPOSE, true, {}, DType::kBF16});
    expectEarly({40, 64, 72, MatrixOperation::kNONE, true, {}, DType::kHALF, false});
}

TEST_F(EarlyProducts, byOtherTiles)
{
    expectEarly({197, 1032, 200, MatrixOperation::kNONE, true, {{EpilogueKind::kAdd}}}, true);
}

//! More steps than stages, for a block and for the parts of a cluster; some parts have none.
TEST_F(EarlyProducts, depths)
{
    for (int64_t const depth : {64, 128, 200, 1032, 3080})
        expectEarly({70, depth, 72});
}

TEST_F(EarlyProducts, epilogues)
{
    constexpr auto kColumns = MatrixOperation::kTRANSPOSE;
    constexpr auto kRows = MatrixOperation::kNONE;
    expectEarly({150, 40, 136, kRows, true, {{EpilogueKind::kGeluErf}}});
    expectEarly({150, 40, 136, kColumns, true, {{EpilogueKind::kGeluTanh}}, DType::kBF16});
    expectEarly({15, 40, 136, kColumns, false, {{EpilogueKind::kSilu}}});
    expectEarly({100, 600, 136, kRows, true, {{EpilogueKind::kAdd}}});
    expectEarly({66, 40, 264, kRows, true, {{EpilogueKind::kGeluErf}, {EpilogueKind::kAdd}}, DType::kBF16});
    expectEarly({66, 40, 136, kColumns, true,
        {{EpilogueKind::kMultiply}, {EpilogueKind::kRelu}, {EpilogueKind::kAdd}, {EpilogueKind::kSigmoid}}});
}

} // namespace tenon::test
