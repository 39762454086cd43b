// Products of int8 matrices: constant right operands packed while building, others packed by the team in each run.
#include "backends/cpu/int8_epilogue.h"
#include "backends/cpu/int8_functions.h"
#include "backends/cpu/int8_packing.h"
#include "backends/cpu/step_kernel.h"
#include "layers/quantized_matrix_multiply.h"

#include <algorithm>

namespace tenon::cpu
{

namespace
{
using nvinfer1::MatrixOperation;

//! A product in numbers: matrices of the result read these of a and of b.
struct Int8Shapes
{
    int64_t rows{0};
    Int8Matrix b;
    std::vector<int64_t> ofA;
    std::vector<int64_t> ofB;
    int64_t countOfB{0};
};

Result<Int8Shapes> int8ShapesOf(
    MatrixMultiply const& layer, std::vector<int64_t> const& a, std::vector<int64_t> const& b)
{
    if (a.size() < 2 || a.size() != b.size())
        return badArgument("its operands have ranks {} and {}", a.size(), b.size());
    size_t const last = a.size() - 1;
    bool const isTransposed = layer.operation1 == MatrixOperation::kTRANSPOSE;
    Int8Shapes s;
    s.rows = a[last - 1];
    s.b = {1, a[last], b[isTransposed ? last - 1 : last]};
    std::vector<int64_t> const batchA(a.begin(), a.end() - 2);
    std::vector<int64_t> const batchB(b.begin(), b.end() - 2);
    std::vector<int64_t> all;
    for (size_t i = 0; i < batchA.size(); ++i)
        all.push_back(batchA[i] == 1 ? batchB[i] : batchA[i]);
    s.countOfB = volumeOf(batchB);
    if (std::max(volumeOf(all), s.countOfB) > INT32_MAX)
        return badArgument("it works on {} matrices", volumeOf(all));
    s.ofA = matricesRead(batchA, all);
    s.ofB = matricesRead(batchB, all);
    // Matrices of a that lie one behind the other and meet one b are one matrix.
    bool isOne = s.countOfB == 1;
    for (size_t i = 0; i < s.ofA.size(); ++i)
        isOne = isOne && s.ofA[i] == static_cast<int64_t>(i);
    if (isOne)
    {
        s.rows *= static_cast<int64_t>(s.ofA.size());
        s.ofA = s.ofB = {0};
    }
    return s;
}

Int8Packing packingOfInt8Product(MatrixMultiply const& layer)
{
    return {layer.operation1 == MatrixOperation::kTRANSPOSE ? Int8Packing::Kind::kColumnsTransposed
                                                            : Int8Packing::Kind::kColumns};
}

struct LoadedInt8Product : LoadedLayer<QuantizedMatrixMultiply>
{
    std::optional<Int8Operand> weights;
    std::vector<int32_t> shifts;
    std::vector<float> scales; //!< One, or one per column, with the input's.

    Result<Done> load()
    {
        LoadedWeight const& scale = kernel.weight(QuantizedOperands::kScales);
        int64_t const count = scale.isConstant() ? volumeOf(scale.arg.extents) : 0;
        scales = TENON_TRY(int8Factors(
            kernel, static_cast<double>(layer.inputScale) * static_cast<double>(layer.product.alpha), count));
        std::vector<int64_t> const& b = kernel.weight(1).arg.extents;
        if (!kernel.weight(1).isConstant() || b.size() < 2)
            return Done{};
        weights = TENON_TRY(Int8Operand::load(kernel, 1, packingOfInt8Product(layer.product)));
        if (std::ranges::find(b, 0) != b.end())
            return Done{}; // No elements, however many matrices or columns a plan says that there are.
        bool const isTransposed = layer.product.operation1 == MatrixOperation::kTRANSPOSE;
        int64_t const length = b[b.size() - (isTransposed ? 1 : 2)];
        int64_t const columns = b[b.size() - (isTransposed ? 2 : 1)];
        shifts = shiftsOf({1, length, columns}, volumeOf({b.begin(), b.end() - 2}), weights->data());
        return Done{};
    }
};

//! Scratch memory: what each lane's products need; packed matrices of b and what sums with them begin with.
class PreparedInt8Product final : public HostPrepared
{
  public:
    PreparedInt8Product(std::shared_ptr<LoadedInt8Product const> loaded, Int8Shapes shapes,
        Int8Epilogue const& epilogue, Int8Scaling scaling, int32_t threads)
        : mLoaded{std::move(loaded)},
          mShapes{std::move(shapes)},
          mEpilogue{epilogue},
          mScaling{std::move(scaling)},
          mThreads{threads},
          mLaneBytes{int8Scratch(1, mShapes.b.length)},
          mPanels{panelsOf(mShapes.b.columns)}
    {
        if (mShapes.b.length == 0)
            mNoShifts.assign(static_cast<size_t>(mPanels * kPanel), 0);
        else if (!mLoaded->weights)
        {
            mPackedBytes = mShapes.countOfB * mShapes.b.bytes();
            mShiftBytes = mShapes.countOfB * mPanels * kPanel * static_cast<int64_t>(sizeof(int32_t));
        }
    }
    bool isCollective() const noexcept override
    {
        return true;
    }
    size_t scratchBytes() const noexcept override
    {
        return static_cast<size_t>(mThreads * mLaneBytes + mPackedBytes + mShiftBytes);
    }
    int32_t stages(int32_t) const noexcept override
    {
        return mPackedBytes > 0 ? 2 : 1;
    }
    Result<Done> run(Call const& call, Lane const& lane) const override
    {
        if (mShapes.ofA.empty())
            return Done{}; // An empty batch.
        auto* const scratch = static_cast<int8_t*>(call.scratch);
        int8_t* const packed = scratch + mThreads * mLaneBytes;
        auto* const shifts = reinterpret_cast<int32_t*>(packed + mPackedBytes);
        if (mPackedBytes > 0 && lane.stage == 0)
        {
            packB(static_cast<int8_t const*>(call.inputs[1]), packed, shifts, lane);
            return Done{};
        }
        int32_t const lanes = std::min(lane.count, mThreads); // More than were prepared for have no memory.
        if (lane.index < lanes)
            multiply(call, packed, shifts, scratch + lane.index * mLaneBytes, lane.index, lanes);
        return Done{};
    }

  private:
    void multiply(Call const& call, int8_t const* packed, int32_t const* shifts, int8_t* scratch, int32_t lane,
        int32_t lanes) const
    {
        auto const* const a = static_cast<int8_t const*>(call.inputs[0]);
        int64_t const stepA = mShapes.rows * mShapes.b.length;
        int64_t const end = (*std::max_element(mShapes.ofA.begin(), mShapes.ofA.end()) + 1) * stepA;
        GemmShare const share =
            shareOf({mShapes.rows, mShapes.b.columns, mShapes.b.length, mShapes.b.length}, lane, lanes, int8RowGrain());
        for (size_t i = 0; i < mShapes.ofA.size(); ++i)
        {
            Int8Gemm gemm;
            gemm.columns = mShapes.b.columns;
            gemm.length = mShapes.b.length;
            gemm.a = a + mShapes.ofA[i] * stepA;
            gemm.aEnd = a + end;
            gemm.aStride = mShapes.b.length;
            int64_t const matrix = mShapes.ofB[i];
            gemm.panels = (mLoaded->weights ? mLoaded->weights->data() : packed) + matrix * mShapes.b.bytes();
            gemm.shifts = !mNoShifts.empty()
                ? mNoShifts.data()
                : (mLoaded->weights ? mLoaded->shifts.data() : shifts) + matrix * mPanels * kPanel;
            gemm.finish = mEpilogue.bind(call, mScaling, static_cast<int64_t>(i) * mShapes.rows, 0);
            int8Functions().runInt8Gemm(gemm, share, scratch);
        }
    }
    void packB(int8_t const* b, int8_t* packed, int32_t* shifts, Lane const& lane) const
    {
        bool const isTransposed = mLoaded->layer.product.operation1 == MatrixOperation::kTRANSPOSE;
        auto const [first, last] = lane.part(mPanels * mShapes.countOfB);
        for (int64_t at = first; at < last; ++at)
        {
            int64_t const matrix = at / mPanels;
            int64_t const panel = at - matrix * mPanels;
            int8_t* const to = packed + matrix * mShapes.b.bytes();
            packInt8Panels(
                b + matrix * mShapes.b.length * mShapes.b.columns, isTransposed, mShapes.b, panel, panel + 1, to);
            setShifts(mShapes.b, panel, panel + 1, to, shifts + matrix * mPanels * kPanel);
        }
    }

    std::shared_ptr<LoadedInt8Product const> mLoaded;
    Int8Shapes mShapes;
    Int8Epilogue mEpilogue;
    Int8Scaling mScaling;
    int32_t mThreads;
    int64_t mLaneBytes;
    int64_t mPanels;
    int64_t mPackedBytes{0};
    int64_t mShiftBytes{0};
    std::vector<int32_t> mNoShifts; //!< Of a panel row: sums of no products begin with 0.
};

Step stepOfInt8Product(StepSource<LoadedInt8Product> const& from)
{
    if (!from.areAllIn(Layout::kLinear))
        return badArgument("its operands are not row-major");
    MatrixMultiply const& layer = from.layer().product;
    TensorArg const& out = from.outputs[0];
    Int8Shapes shapes = TENON_TRY(int8ShapesOf(layer, from.inputs[0].extents, from.inputs[1].extents));
    int64_t const columns = shapes.b.columns;
    if (from.loaded->scales.size() != 1 && std::ssize(from.loaded->scales) != columns)
        return badArgument("the kernel has {} scales for {} columns", from.loaded->scales.size(), columns);
    Int8Epilogue epilogue =
        TENON_TRY(Int8Epilogue::make(layer.epilogue, resultOf(from.layer()), from.kernel(), from.inputs, out, columns));
    std::vector<float> factors = from.loaded->scales;
    factors.resize(static_cast<size_t>(columns), factors.empty() ? 0.0F : factors.front());
    std::vector<double> zeroSums;
    if (int32_t const zero = from.layer().inputZero; zero != 0 && shapes.b.length > 0)
    {
        if (!from.loaded->weights || shapes.countOfB != 1)
            return badArgument("it has a zero point and no one constant matrix");
        for (int64_t c = 0; c < columns; ++c)
            zeroSums.push_back(zeroSum(zero, from.loaded->shifts[static_cast<size_t>(c)]));
    }
    Int8Scaling scaling = TENON_TRY(epilogue.scalingOf(from.kernel(), std::move(factors), zeroSums));
    return Step{std::shared_ptr<Prepared const>{std::make_shared<PreparedInt8Product>(
        from.loaded, std::move(shapes), epilogue, std::move(scaling), std::max(from.threads, 1))}};
}

std::variant<std::vector<Offer>, Refusal> offerInt8Product(Problem const& problem)
{
    MatrixMultiply const& layer = problem.fields<QuantizedMatrixMultiply>().product;
    if (std::optional<std::string> why = whyNoEpilogue(problem, layer.epilogue))
        return refuse("int8", *std::move(why));
    Offer offer;
    offer.inputs.assign(problem.node->inputs.size(), Layout::kLinear);
    offer.outputs = {Layout::kLinear};
    offer.inPlace = int8InPlaceOf(problem, layer.epilogue);
    std::vector<int64_t> const a = problem.typicalExtents(problem.input(0));
    auto const outputs = static_cast<double>(volumeOf(problem.typicalExtents(problem.output())));
    offer.cost = int8CostOf(problem, outputs * static_cast<double>(a.back()));
    return std::vector<Offer>{offer};
}

Result<KernelSpec> buildInt8Product(Problem const& problem, Offer const& offer)
{
    KernelSpec spec{.kernel = "int8_product", .args = encodeLayerArgs(problem, offer), .packed = {}};
    if (Constant const* const b = problem.constant(1))
        spec.packed.push_back(
            TENON_TRY(packInt8Weight(1, *b, packingOfInt8Product(problem.fields<QuantizedMatrixMultiply>().product))));
    return spec;
}

using Int8ProductFile = StepFile<"int8_product", "int8", offerInt8Product, stepOfInt8Product, buildInt8Product>;
} // namespace

} // namespace tenon::cpu

TENON_KERNELS(Int8Product, Int8ProductFile::kCandidates, Int8ProductFile::kKernels);
