// Products of normalized rows on a GPU against the reference: every tactic, with sizes that no tile divides, and means
// that are large beside the deviation.
#include "backends/cuda_cases.h"
#include "layers/normalized_product.h"

namespace tenon::test
{

namespace
{
using nvinfer1::MatrixOperation;

class NormalizedProducts : public CudaKernels
{
};

struct NormalizedCase
{
    std::vector<int64_t> x;
    int64_t columns;
    DType type{DType::kHALF};
    double mean{0.3};
    MatrixOperation order{MatrixOperation::kNONE};
    bool hasBias{true};
    std::vector<EpilogueStep> steps{};
    bool isByOtherTiles{false};
};

void expectNormalized(NormalizedCase const& of)
{
    SCOPED_TRACE(fmt::format("{} to {}, {}, mean {}", fmt::join(of.x, " x "), of.columns, nameOf(of.type), of.mean));
    NormalizedProduct layer;
    layer.product.operation1 = of.order;
    layer.product.epilogue.steps = of.steps;
    int64_t const depth = of.x.back();
    bool const isTurned = of.order == MatrixOperation::kTRANSPOSE;
    std::vector<int64_t> matrix(of.x.size(), 1);
    matrix[of.x.size() - 2] = isTurned ? of.columns : depth;
    matrix.back() = isTurned ? depth : of.columns;
    double const scale = 1.0 / std::sqrt(static_cast<double>(depth)); // Results of about 1.
    HostTensor const weights = randomTensor(matrix, -2.0 * scale, 2.0 * scale, of.type);
    std::vector<Operand> operands{input(randomTensor(of.x, of.mean - 1.0, of.mean + 1.0, of.type)), weight(weights),
        of.hasBias ? weight(randomTensor({of.columns}, -1.0, 1.0, of.type)) : absent(),
        weight(columnSums(weights, of.columns, isTurned))};
    std::vector<Offer> const offers = of.isByOtherTiles ? otherTiles("normalized tiles", operands.size())
                                                        : tacticsAroundNorms("normalized tiles", operands.size());
    Tolerance const tolerance = of.type == DType::kHALF ? Tolerance{2e-3, 2e-3} : Tolerance{3e-2, 1.6e-2};
    expectOffers(makeLayer(std::move(layer)), std::move(operands), offers, tolerance);
}
} // namespace

TEST_F(NormalizedProducts, byOtherTiles)
{
    NormalizedCase of{.x = {150, 320}, .columns = 200};
    of.isByOtherTiles = true;
    expectNormalized(of);
}

TEST_F(NormalizedProducts, rowsAndEdges)
{
    for (int64_t const rows : {1, 64, 129, 197})
        expectNormalized({{rows, 128}, 136});
    expectNormalized({{1, 70, 192}, 200});
    expectNormalized({{2, 35, 64}, 72, DType::kBF16});
    expectNormalized({{65, 96}, 104}); // No whole stages: by other kernels.
}

//! More stages than the ring has.
TEST_F(NormalizedProducts, depths)
{
    for (int64_t const depth : {64, 320, 1024})
        expectNormalized({{70, depth}, depth + 8});
    expectNormalized({{197, 768}, 776});
    expectNormalized({{130, 2048}, 104, DType::kBF16});
}

TEST_F(NormalizedProducts, epiloguesAndOrders)
{
    constexpr auto kColumns = MatrixOperation::kTRANSPOSE;
    expectNormalized({{50, 128}, 136, DType::kHALF, 0.3, kColumns, true, {{EpilogueKind::kGeluErf}}});
    expectNormalized({{50, 128}, 136, DType::kBF16, 0.3, kColumns, false, {{EpilogueKind::kRelu}}});
}

//! Up to 30 times the deviation, which is 0.58 here: errors are no larger than beside a mean of 0.
TEST_F(NormalizedProducts, largeMeans)
{
    for (double const mean : {-4.0, 8.0, 17.0})
        expectNormalized({{66, 768}, 776, DType::kHALF, mean});
}

} // namespace tenon::test
