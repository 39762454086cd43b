// Kernels of the CUDA backend that are made for some GPUs, family by family: which GPUs they are offered for, that
// shapes of one form share a text, and that each call of the driver that fails while one is made and run is told by its
// name.
#include "backends/rows.h"
#include "cuda/fake_device.h"
#include "device/cuda/cuda_kernel.h"
#include "ir/host_tensor.h"
#include "layers/attention.h"
#include "layers/channel_gate.h"
#include "layers/convolution_sum.h"
#include "layers/gated_convolution.h"
#include "layers/image_convolution.h"
#include "layers/matrix_multiply.h"
#include "layers/measured_product.h"
#include "layers/normalized_product.h"
#include "layers/quantized_matrix_multiply.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

namespace tenon::test
{

namespace
{
using testing::HasSubstr;

constexpr DType kHalfType{DType::kHALF};

struct FamilyOperand
{
    std::vector<int64_t> extents;
    bool isWeight{false};
    DType type{kHalfType};
    Layout layout{Layout::kLinear};
};
using FamilyOperands = std::vector<FamilyOperand>;

//! One tactic of a candidate.
struct Family
{
    std::string candidate;
    int64_t tactic;
    std::shared_ptr<Layer const> layer;
    FamilyOperands (*operands)(int64_t rows); //!< Images or rows, of which there are more or fewer.
    int64_t rows;                             //!< Few, for the fake device.
    int64_t offeredRows;                      //!< As many as the candidate is offered for.
    std::vector<int64_t> (*result)(int64_t rows);
    Layout resultLayout;
    std::string lacking; //!< A GPU without what it needs.
};

FamilyOperand given(std::vector<int64_t> extents, Layout layout = Layout::kLinear, DType type = kHalfType)
{
    return {std::move(extents), false, type, layout};
}
FamilyOperand constant(std::vector<int64_t> extents, DType type = kHalfType)
{
    return {std::move(extents), true, type, Layout::kLinear};
}

template <typename L>
std::shared_ptr<Layer const> shared(L layer)
{
    return std::shared_ptr<Layer const>{makeLayer(std::move(layer))};
}

Convolution convolutionOf(int64_t maps, int64_t side, int64_t stride, int64_t padding, int64_t groups = 1)
{
    Convolution conv;
    conv.nbOutputMaps = maps;
    conv.nbGroups = groups;
    conv.kernelSize = nvinfer1::Dims2{side, side};
    conv.stride = nvinfer1::Dims2{stride, stride};
    conv.prePadding = conv.postPadding = nvinfer1::Dims2{padding, padding};
    return conv;
}

ImageConvolution imageOf()
{
    ImageConvolution layer{.product = convolutionOf(16, 3, 2, 1), .pooling = {}};
    layer.pooling.windowSize = layer.pooling.stride = nvinfer1::Dims2{2, 2};
    return layer;
}

ConvolutionSum sumOf()
{
    ConvolutionSum layer;
    layer.nbOutputMaps = 64;
    layer.secondStride = nvinfer1::Dims2{2, 2};
    return layer;
}

ChannelGate gateOf()
{
    ChannelGate layer;
    layer.first.steps = {{EpilogueKind::kSilu}};
    layer.second.steps = {{EpilogueKind::kSigmoid}};
    return layer;
}

constexpr Layout kLast{Layout::kChannelsLast};

FamilyOperands matrices(int64_t rows)
{
    return {given({rows, 128}), constant({128, 64})};
}
std::vector<int64_t> matrixResult(int64_t rows)
{
    return {rows, 64};
}
QuantizedMatrixMultiply bytesToHalves()
{
    QuantizedMatrixMultiply layer;
    layer.realType = DType::kHALF;
    return layer;
}
FamilyOperands bytes(int64_t rows)
{
    constexpr DType kBytes{DType::kINT8};
    return {given({rows, 128}, Layout::kLinear, kBytes), constant({128, 64}, kBytes), constant({64}),
        constant({64}, DType::kFLOAT)};
}
FamilyOperands sums(int64_t rows)
{
    return {
        given({1, 64, rows, 8}, kLast), constant({64, 96, 1, 1}), constant({64}), given({1, 32, 2 * rows, 16}, kLast)};
}
FamilyOperands windows(int64_t rows)
{
    return {given({1, 64, rows, 8}, kLast), constant({64, 64, 3, 3})};
}
std::vector<int64_t> windowResult(int64_t rows)
{
    return {1, 64, rows, 8};
}

MeasuredProduct addsNormalized()
{
    MeasuredProduct layer{.normalized = NormalizedOperand::kExtra};
    layer.product.epilogue.steps = {{EpilogueKind::kAdd}};
    return layer;
}

std::vector<Family> families()
{
    auto const normalized = [](int64_t rows) -> FamilyOperands {
        return {given({rows, 128}), constant({128, 64}), constant({64}), constant({64}, DType::kFLOAT)};
    };
    auto const measured = [](int64_t rows) -> FamilyOperands {
        return {given({rows, 128}), constant({128, 64}), constant({64}), given({rows, 64}),
            given({2, rows, 2}, Layout::kLinear, DType::kFLOAT), constant({1, 64})};
    };
    auto const image = [](int64_t rows) -> FamilyOperands {
        return {given({1, 3, 4 * rows, 16}, Layout::kLinear, DType::kFLOAT), constant({16, 3, 3, 3})};
    };
    auto const gate = [](int64_t rows) -> FamilyOperands {
        return {given({1, 32, rows, 4}, kLast), constant({8, 32, 1, 1}), constant({32, 8, 1, 1}), constant({8}),
            constant({32})};
    };
    auto const gated = [](int64_t rows) -> FamilyOperands {
        return {given({1, 32, rows, 4}, kLast), constant({16, 32, 1, 1}), constant({16}), given({1, 32, 1, 1}, kLast)};
    };
    auto const pixels = [](int64_t rows) -> FamilyOperands {
        return {given({1, 32, rows, 4}, kLast), constant({16, 32, 1, 1})};
    };
    auto const pixelResult = [](int64_t rows) { return std::vector<int64_t>{1, 16, rows, 4}; };
    auto const attended = [](int64_t rows) -> FamilyOperands {
        return {given({1, 2, rows, 64}), given({1, 2, rows, 64}), given({1, 2, rows, 64})};
    };
    constexpr Layout kRows{Layout::kLinear};
    return {
        {"early tiles", 0, shared(MatrixMultiply{}), matrices, 20, 128, matrixResult, kRows, "sm_89"},
        {"small tiles", 4, shared(MatrixMultiply{}), matrices, 20, 40, matrixResult, kRows, "sm_75"},
        {"large tiles", 3, shared(MatrixMultiply{}), matrices, 20, 1 << 18, matrixResult, kRows, "sm_100"},
        {"large tiles", 4, shared(bytesToHalves()), bytes, 20, 1 << 18, matrixResult, kRows, "sm_100"},
        {"normalized tiles", 0, shared(NormalizedProduct{}), normalized, 20, 128, matrixResult, kRows, {}},
        {"measured tiles", 1, shared(addsNormalized()), measured, 20, 128, matrixResult, kRows, {}},
        {"early tiles", 0, shared(convolutionOf(64, 3, 1, 1)), windows, 4, 16, windowResult, kLast, "sm_89"},
        {"large tiles", 3, shared(convolutionOf(64, 3, 1, 1)), windows, 4, 1 << 13, windowResult, kLast, "sm_100"},
        {"early tiles", 0, shared(sumOf()), sums, 4, 16, windowResult, kLast, "sm_89"},
        {"large tiles", 3, shared(sumOf()), sums, 4, 1 << 13, windowResult, kLast, "sm_100"},
        {"shared windows", 0, shared(convolutionOf(64, 3, 1, 1)), windows, 4, 128, windowResult, kLast, "sm_100"},
        {"image tiles", 0, shared(imageOf()), image, 4, 4,
            [](int64_t rows) {
                return std::vector<int64_t>{1, 16, rows, 4};
            },
            kLast, "sm_75"},
        {"channel gate", 0, shared(gateOf()), gate, 4, 4,
            [](int64_t) {
                return std::vector<int64_t>{1, 32, 1, 1};
            },
            kLast, {}},
        {"gated tiles", 64, shared(GatedConvolution{convolutionOf(16, 1, 1, 0)}), gated, 4, 1 << 12, pixelResult, kLast,
            "sm_75"},
        {"thin tiles", 0, shared(convolutionOf(16, 1, 1, 0)), pixels, 4, 1 << 12, pixelResult, kLast, "sm_75"},
        {"depthwise", 2, shared(convolutionOf(32, 3, 1, 1, 32)),
            [](int64_t rows) -> FamilyOperands {
                return {given({1, 32, rows, 4}, kLast), constant({32, 1, 3, 3})};
            },
            4, 4,
            [](int64_t rows) {
                return std::vector<int64_t>{1, 32, rows, 4};
            },
            kLast, {}},
        {"online softmax", 6, shared(Attention{}), attended, 16, 128,
            [](int64_t rows) {
                return std::vector<int64_t>{1, 2, rows, 64};
            },
            kRows, "sm_89"},
    };
}

std::string nameOfFamily(Family const& family)
{
    return fmt::format("{} {} of {}", family.candidate, family.tactic, family.layer->name());
}

BackendEntry const& gpuBackend()
{
    auto const all = allBackends();
    return *std::ranges::find(all, std::string_view{"cuda"}, &BackendEntry::name);
}

//! The layer as a graph, its weights zeros.
struct FamilyGraph
{
    Graph graph;
    NodeId node{};

    FamilyGraph(Family const& family, int64_t rows)
    {
        std::vector<ValueId> values;
        for (FamilyOperand const& operand : family.operands(rows))
        {
            std::string const name = fmt::format("v{}", values.size());
            values.push_back(operand.isWeight
                    ? graph.addConstant(name, HostTensor{operand.type, operand.extents}.toConstant())
                    : graph.addInput(name, {operand.type, shapeOf(operand.extents)}));
        }
        auto const made = graph.addNode(family.layer, "layer", values);
        EXPECT_TRUE(made) << (made ? "" : made.error().message);
        node = made ? *made : NodeId{};
    }
};

//! Whether its tactic is offered; else the candidate's reason.
std::string objectionOf(Family const& family, std::string const& architecture)
{
    FamilyGraph const made{family, family.offeredRows};
    Target target = gpuBackend().target(0);
    target.architecture = architecture;
    Offers const offers = gpuBackend().backend().offers({&made.graph, &made.graph.node(made.node), {}, &target});
    for (Offer const& offer : offers.accepted)
        if (offer.candidate == family.candidate && offer.tactic == family.tactic)
            return {};
    for (Refusal const& refusal : offers.refused)
        if (refusal.candidate == family.candidate)
            return refusal.reason;
    return "only other tactics";
}

//! As a plan has it.
Result<KernelSpec> specOf(Family const& family, int64_t rows)
{
    FamilyGraph const made{family, rows};
    Target const target = gpuBackend().target(0);
    Offer offer;
    offer.candidate = family.candidate;
    offer.tactic = family.tactic;
    offer.outputs = {family.resultLayout};
    for (FamilyOperand const& operand : family.operands(rows))
        offer.inputs.push_back(operand.layout);
    return gpuBackend().backend().build({&made.graph, &made.graph.node(made.node), {}, &target}, offer);
}

//! A step of it in memory of the fake device.
class FamilyStep
{
  public:
    static Result<std::unique_ptr<FamilyStep>> make(Family const& family, KernelSpec const& spec, int64_t rows)
    {
        auto made = std::unique_ptr<FamilyStep>{new FamilyStep};
        TENON_TRY(made->prepare(family, spec, rows));
        return made;
    }
    FamilyStep(FamilyStep const&) = delete;
    FamilyStep& operator=(FamilyStep const&) = delete;
    ~FamilyStep()
    {
        for (void* const each : mMemory)
            fake().release(each);
    }
    Result<Done> run() const
    {
        std::vector<void const*> const inputs{mMemory.begin(), mMemory.begin() + static_cast<std::ptrdiff_t>(mInputs)};
        void* output = mMemory[mInputs];
        Launch launch;
        launch.prepared = mPrepared.get();
        launch.call = {.inputs = inputs.data(), .outputs = &output, .scratch = mMemory[mInputs + 1]};
        launch.inputCount = mInputs;
        launch.outputCount = 1;
        RunFailure failure;
        static_cast<void>(TENON_TRY(fake().run({&launch, 1}, {.stream = kApartStream}, failure)));
        return Done{};
    }

    double hidden() const noexcept
    {
        return cudaPrepared(*mPrepared).hidden();
    }

  private:
    FamilyStep() = default;
    Result<Done> allocate(size_t bytes)
    {
        mMemory.push_back(fake().allocate(bytes));
        if (mMemory.back() != nullptr)
            return Done{};
        mMemory.pop_back();
        return errorOf(ErrorCode::kFAILED_ALLOCATION, "cuMemAlloc: no memory");
    }
    Result<Done> prepare(Family const& family, KernelSpec const& spec, int64_t rows)
    {
        FamilyOperands const operands = family.operands(rows);
        mInputs = operands.size();
        std::vector<TensorArg> in;
        for (FamilyOperand const& operand : operands)
        {
            in.push_back({operand.type, operand.layout, operand.extents});
            auto const bytes = static_cast<size_t>(bytesOf(operand.type, volumeOf(operand.extents)));
            TENON_TRY(allocate(bytes));
            std::vector<std::byte> const zeros(bytes);
            TENON_TRY(fake().copyFromHost(mMemory.back(), zeros.data(), bytes, kApartStream));
        }
        std::vector<WeightArg> weights(operands.size());
        for (size_t i = 0; i < operands.size(); ++i)
            if (operands[i].isWeight)
                weights[i] = {mMemory[i], static_cast<size_t>(bytesOf(operands[i].type, volumeOf(operands[i].extents))),
                    operands[i].type, operands[i].extents, {}};
        for (PackedWeight const& packed : spec.packed)
            weights[static_cast<size_t>(packed.input)].packing = packed.packing;
        mKernel = TENON_TRY(fake().load({.kernel = spec.kernel, .args = spec.args, .weights = weights}));
        TensorArg const out{kHalfType, family.resultLayout, family.result(rows)};
        mPrepared = TENON_TRY(mKernel->prepare(in, {&out, 1}, 1));
        TENON_TRY(allocate(static_cast<size_t>(bytesOf(kHalfType, volumeOf(out.extents)))));
        return allocate(mPrepared->scratchBytes() + 1);
    }

    size_t mInputs{0};
    std::vector<void*> mMemory; //!< Inputs, the result, scratch.
    std::unique_ptr<Kernel> mKernel;
    std::shared_ptr<Prepared const> mPrepared;
};

Result<Done> makeAndRun(Family const& family, KernelSpec const& spec, int64_t rows)
{
    return TENON_TRY(FamilyStep::make(family, spec, rows))->run();
}
Result<Done> makeAndRun(Family const& family, int64_t rows)
{
    return makeAndRun(family, TENON_TRY(specOf(family, rows)), rows);
}
} // namespace

TEST(KernelFamilies, areOfferedForGpusThatHaveWhatTheyNeed)
{
    for (Family const& family : families())
    {
        SCOPED_TRACE(nameOfFamily(family));
        EXPECT_EQ(objectionOf(family, "sm_90"), "");
        EXPECT_TRUE(family.lacking.empty() || !objectionOf(family, family.lacking).empty()) << family.lacking;
    }
}

TEST(KernelFamilies, shapesOfOneFormShareATextAndItsModule)
{
    for (Family const& family : families())
    {
        SCOPED_TRACE(nameOfFamily(family));
        auto const first = makeAndRun(family, family.rows);
        ASSERT_TRUE(first) << first.error().message;
        int64_t const before = tenonFakeCallsOf("cuModuleLoadDataEx");
        auto const second = makeAndRun(family, family.rows + 16);
        ASSERT_TRUE(second) << second.error().message;
        EXPECT_EQ(tenonFakeCallsOf("cuModuleLoadDataEx"), before);
    }
}

//! Kernels whose weights come before they wait hide their launch behind the one in front, and attention, too, which
//! stands beside a library's.
TEST(KernelFamilies, trialsOfEarlyKernelsAreTakenForWhatRunsSee)
{
    std::set<std::string> const early{"early tiles", "normalized tiles", "measured tiles", "small tiles", "depthwise",
        "shared windows", "online softmax"};
    for (Family const& family : families())
    {
        SCOPED_TRACE(nameOfFamily(family));
        auto const spec = specOf(family, family.rows);
        ASSERT_TRUE(spec) << spec.error().message;
        auto const step = FamilyStep::make(family, *spec, family.rows);
        ASSERT_TRUE(step) << step.error().message;
        EXPECT_EQ((*step)->hidden() > 0.0, early.contains(family.candidate));
    }
}

TEST(KernelFamilies, eachFailingCallIsToldByItsName)
{
    // What goes back to the driver cannot be had back; contexts are asked for again.
    std::set<std::string> const silent{"cuCtxGetCurrent", "cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2", "cuMemFree_v2",
        "cuEventCreate", "cuEventDestroy_v2", "cuStreamIsCapturing", "cuThreadExchangeStreamCaptureMode"};
    std::set<std::string> told;
    for (Family const& family : families())
    {
        SCOPED_TRACE(nameOfFamily(family));
        auto const spec = specOf(family, family.rows);
        ASSERT_TRUE(spec) << spec.error().message;
        auto const whole = makeAndRun(family, *spec, family.rows);
        ASSERT_TRUE(whole) << whole.error().message;
        for (int64_t nth = 1;; ++nth)
        {
            tenonFakeFailCall(nth, 1);
            auto const done = makeAndRun(family, *spec, family.rows);
            std::string const failed = tenonFakeFailed();
            tenonFakeFailCall(0, 0);
            tenonFakeDrain();
            if (failed.empty())
                break;
            bool const isLibrary = failed.starts_with("cublas"); // Our tiles do what it does not.
            EXPECT_TRUE(!done || isLibrary || silent.contains(failed)) << failed << " failed, and nobody said so";
            if (!done && failed != "cuMemAlloc_v2")
            {
                EXPECT_THAT(done.error().message, HasSubstr("cu")) << failed;
                told.insert(failed);
            }
            void* left{nullptr};
            while (failed == "cuCtxPopCurrent_v2" && fake().api().cuCtxPopCurrent_v2(&left) == 0) // Of this thread's.
            {
            }
        }
        auto const again = makeAndRun(family, *spec, family.rows);
        EXPECT_TRUE(again) << again.error().message;
    }
    for (std::string const call : {"cuLaunchKernel", "cuModuleGetFunction", "cuFuncSetAttribute",
             "cuTensorMapEncodeTiled", "cuTensorMapEncodeIm2col"})
        EXPECT_TRUE(told.contains(call)) << call;
}

} // namespace tenon::test
