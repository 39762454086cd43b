// Products between norms on a GPU against the reference: every tactic, rows that no tile divides, what is normalized
// and what is measured, and means that are large beside the deviation.
#include "backends/cuda_cases.h"
#include "layers/measured_product.h"

namespace tenon::test
{

namespace
{
using nvinfer1::MatrixOperation;

constexpr int64_t kFew[]{1, 8, kFirstLibrary}; //!< Of each kind one: a tile, shared ones, the library's.
constexpr int64_t kGroup{MeasuredProduct::kGroup};

class MeasuredProducts : public CudaKernels
{
};

struct MeasuredCase
{
    std::vector<int64_t> x;
    int64_t columns;
    NormalizedOperand normalized{NormalizedOperand::kNone};
    bool measures{true};
    DType type{DType::kHALF};
    double mean{0.3};
    bool hasExtra{false};
    bool hasShift{true};
    MatrixOperation order{MatrixOperation::kNONE};
    std::vector<EpilogueStep> steps{};
    std::vector<int64_t> tactics{}; //!< None: some of each kind.
    bool isByOtherTiles{false};
};

//! As another such product leaves them behind.
HostTensor momentsOf(HostTensor const& x)
{
    std::vector<int64_t> extents = x.extents;
    int64_t const groups = extents.back() / kGroup;
    int64_t const rows = x.count() / extents.back();
    extents.back() = 2;
    extents.insert(extents.begin(), groups);
    HostTensor made{DType::kFLOAT, std::move(extents)};
    for (int64_t i = 0; i < groups * rows; ++i)
    {
        int64_t const first = (i % rows * groups + i / rows) * kGroup;
        double mean{0.0};
        double squares{0.0};
        for (int64_t k = 0; k < kGroup; ++k)
            mean += x.real(first + k) / static_cast<double>(kGroup);
        for (int64_t k = 0; k < kGroup; ++k)
            squares += (x.real(first + k) - mean) * (x.real(first + k) - mean);
        made.set(i * 2, mean);
        made.set(i * 2 + 1, squares);
    }
    return made;
}

void expectMeasured(MeasuredCase const& of)
{
    SCOPED_TRACE(fmt::format("{} to {}, {}, mean {}, normalizes {}, measures {}", fmt::join(of.x, " x "), of.columns,
        nameOf(of.type), of.mean, static_cast<int32_t>(of.normalized), of.measures));
    bool const isExtra = of.normalized == NormalizedOperand::kExtra;
    MeasuredProduct layer{.normalized = of.normalized, .measures = of.measures};
    layer.product.operation1 = of.order;
    if (isExtra || of.hasExtra)
        layer.product.epilogue.steps.push_back({EpilogueKind::kAdd});
    layer.product.epilogue.steps.insert(layer.product.epilogue.steps.end(), of.steps.begin(), of.steps.end());
    int64_t const depth = of.x.back();
    bool const isTurned = of.order == MatrixOperation::kTRANSPOSE;
    std::vector<int64_t> matrix(of.x.size(), 1);
    matrix[of.x.size() - 2] = isTurned ? of.columns : depth;
    matrix.back() = isTurned ? depth : of.columns;
    std::vector<int64_t> result = of.x;
    result.back() = of.columns;
    double const scale = 1.0 / std::sqrt(static_cast<double>(depth)); // Results of about 1.
    HostTensor const x = randomTensor(of.x, of.mean - 1.0, of.mean + 1.0, of.type);
    HostTensor const weights = randomTensor(matrix, -2.0 * scale, 2.0 * scale, of.type);
    HostTensor const extra = randomTensor(result, of.mean - 1.0, of.mean + 1.0, of.type);
    std::vector<int64_t> row(of.x.size(), 1);
    row.back() = of.columns;
    std::vector<Operand> operands{input(x), weight(weights), weight(randomTensor({of.columns}, -1.0, 1.0, of.type)),
        isExtra || of.hasExtra ? input(extra) : absent()};
    if (of.normalized == NormalizedOperand::kRows)
    {
        operands.push_back(input(momentsOf(x)));
        operands.push_back(weight(columnSums(weights, of.columns, isTurned)));
    }
    else if (isExtra)
    {
        operands.push_back(input(momentsOf(extra)));
        operands.push_back(weight(randomTensor(row, 0.5, 1.5, of.type)));
        operands.push_back(of.hasShift ? weight(randomTensor(row, -1.0, 1.0, of.type)) : absent());
    }
    std::vector<Offer> offers = of.isByOtherTiles ? otherTiles("measured tiles", operands.size())
                                                  : tacticsAroundNorms("measured tiles", operands.size());
    for (Offer& offer : offers)
        offer.outputs.assign(layer.outputs(), Layout::kLinear);
    if (!of.tactics.empty())
        std::erase_if(offers, [&](Offer const& offer) { return std::ranges::count(of.tactics, offer.tactic) == 0; });
    Tolerance const tolerance = of.type == DType::kHALF ? Tolerance{3e-3, 3e-3} : Tolerance{3e-2, 1.6e-2};
    expectOffers(makeLayer(std::move(layer)), std::move(operands), offers, tolerance);
}
} // namespace

TEST_F(MeasuredProducts, byOtherTiles)
{
    MeasuredCase of{.x = {70, 1088}, .columns = 192, .normalized = NormalizedOperand::kRows, .measures = true};
    of.isByOtherTiles = true;
    expectMeasured(of);
}

TEST_F(MeasuredProducts, rowsAndEdges)
{
    for (auto const normalized : {NormalizedOperand::kNone, NormalizedOperand::kRows, NormalizedOperand::kExtra})
        for (int64_t const rows : {1, 130})
            expectMeasured({{rows, 192}, 192, normalized});
    expectMeasured({{1, 70, 192}, 192, NormalizedOperand::kRows});
    expectMeasured({{65, 96}, 192, NormalizedOperand::kNone}); // No whole stages.
    expectMeasured({{70, 64}, 64});                            // Tiles that reach beyond the columns.
    expectMeasured({{65, 64}, 128});
}

//! More stages than the ring has, and depths that clusters share.
TEST_F(MeasuredProducts, depths)
{
    expectMeasured({{17, 1024}, 192, NormalizedOperand::kExtra});
    for (int64_t const depth : {1024, 2048}) // As many moments as threads hold, and more.
    {
        MeasuredCase of{{17, depth}, 64, NormalizedOperand::kRows};
        of.tactics = {std::begin(kFew), std::end(kFew)};
        expectMeasured(of);
    }
}

TEST_F(MeasuredProducts, typesAndForms)
{
    std::vector<int64_t> const few{std::begin(kFew), std::end(kFew)};
    MeasuredCase of{{50, 128}, 72, NormalizedOperand::kRows, false, DType::kBF16}; // Columns that are not measured.
    of.order = MatrixOperation::kTRANSPOSE;
    of.steps = {{EpilogueKind::kGeluErf}};
    of.tactics = few;
    expectMeasured(of);
    of = {{2, 35, 64}, 64, NormalizedOperand::kExtra, true, DType::kBF16};
    of.hasShift = false;
    of.steps = {{EpilogueKind::kRelu}};
    of.tactics = few;
    expectMeasured(of);
    of = {{50, 64}, 192, NormalizedOperand::kRows};
    of.hasExtra = true;
    of.tactics = few;
    expectMeasured(of);
}

//! The deviation is 0.58: of squares of the numbers themselves nothing would be left in float32 beside a mean of 1,000.
//! Rows are multiplied as they are, which takes its own toll from the products.
TEST_F(MeasuredProducts, largeMeans)
{
    for (double const mean : {-4.0, 17.0})
        expectMeasured({{18, 192}, 192, NormalizedOperand::kRows, true, DType::kHALF, mean});
    expectMeasured({{18, 192}, 192, NormalizedOperand::kExtra, true, DType::kHALF, 1000.0});
}

} // namespace tenon::test
