// The graphs that convolutions become, before the real cuDNN, which plans them for an H200 that is only described.
#include "backends/cuda/cudnn_attention.h"
#include "backends/cuda/cudnn_convolution.h"

#include <gtest/gtest.h>

#include <algorithm>

#ifndef TENON_REAL_CUDNN
#define TENON_REAL_CUDNN "libcudnn.so.9" // Where the loader looks.
#endif

namespace tenon::test
{

namespace
{
using namespace tenon::cuda;

constexpr std::string_view kH200{
    R"({"maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64], "regsPerBlock": 65536,
    "multiProcessorCount": 132, "warpSize": 32, "maxSharedMemoryPerBlock": 49152,
    "maxSharedMemoryPerBlockOptin": 232448, "reservedSharedMemoryPerBlock": 1024, "maxRegistersPerSM": 65536,
    "maxCtasPerSM": 32, "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048, "pciDeviceId": 0, "isTccDriver": 0,
    "supportCoopLaunch": 1, "totalGlobalMem": 150000000000, "smClockRateKHz": 1980000, "memClockRateKHz": 3201000,
    "l2CacheSize": 52428800, "cudaDeviceId": 0, "deviceVer": 900, "driverVer": 13000, "deviceName": "NVIDIA H200"})"};

//! A convolution of an image of extent 28 along each of `rank` axes.
struct Described
{
    DType type{DType::kHALF};
    int64_t channels{64};
    int64_t maps{64};
    int64_t window{3};
    int64_t groups{1};
    size_t rank{2};
    int64_t stride{1};
    bool isTransposed{false};
    std::vector<EpilogueStep> steps{};
    bool hasBias{true};
};

struct ConvolutionOperands
{
    ConvolutionShape shape;
    std::vector<TensorArg> inputs;
    TensorArg out;
};

ConvolutionOperands convolutionOperands(Described const& of)
{
    constexpr int64_t kExtent{28};
    std::vector<int64_t> const ones(of.rank, 1);
    std::vector<int64_t> const padding(of.rank, of.window / 2);
    Window const window{.size = std::vector<int64_t>(of.rank, of.window),
        .stride = std::vector<int64_t>(of.rank, of.stride),
        .dilation = ones,
        .pre = padding,
        .post = padding};
    std::vector<int64_t> in{2, of.channels};
    std::vector<int64_t> filter{of.maps, of.channels / of.groups};
    std::vector<int64_t> out{2, of.maps};
    if (of.isTransposed)
        filter = {of.channels, of.maps / of.groups};
    int64_t const reach = of.window / 2 * 2 - of.window;
    for (size_t axis = 0; axis < of.rank; ++axis)
    {
        in.push_back(kExtent);
        filter.push_back(of.window);
        out.push_back(of.isTransposed ? (kExtent - 1) * of.stride - reach : (kExtent + reach) / of.stride + 1);
    }
    ConvolutionOperands made{.shape = {.window = window,
                                 .groups = of.groups,
                                 .isTransposed = of.isTransposed,
                                 .isChannelsLast = true,
                                 .hasBias = of.hasBias,
                                 .epilogue = {of.steps}},
        .inputs = {{of.type, Layout::kChannelsLast, in}, {of.type, Layout::kLinear, filter},
            {of.type, Layout::kLinear, {of.maps}, of.hasBias}},
        .out = {of.type, Layout::kChannelsLast, out}};
    for (int32_t i = 0; i < made.shape.epilogue.extraInputs(); ++i)
        made.inputs.push_back(made.out);
    return made;
}

class CudnnGraphs : public testing::Test
{
  protected:
    static Result<CudnnApi> const& library()
    {
        static Result<CudnnApi> const opened = openCudnn({TENON_REAL_CUDNN});
        return opened;
    }
    static CudnnApi const& api()
    {
        return *library();
    }
    void SetUp() override
    {
        if (!library())
            GTEST_SKIP() << library().error().message;
    }
    static CudnnLayer layerOf(Described const& of)
    {
        ConvolutionOperands const operands = convolutionOperands(of);
        return cudnnConvolution(operands.shape, operands.inputs, operands.out);
    }
    static Result<DescribedLayer> describe(Described const& of, CudnnPart const& part, CudnnObject const* machine)
    {
        return describeLayer(api(), {.description = machine}, layerOf(of), part);
    }
    static Result<CudnnPlan> planOf(Described const& of, CudnnPart const& part, int32_t position = 0)
    {
        CudnnObject machine = TENON_TRY(CudnnObject::make(api(), dnn::kDeviceProperties));
        TENON_TRY(machine.setText(dnn::kDeviceText, kH200));
        TENON_TRY(machine.finalize());
        DescribedLayer const graph = TENON_TRY(describe(of, part, &machine));
        return cudnnPlan(graph.graph, {.description = &machine},
            {.position = position, .isExact = of.type == DType::kFLOAT, .mostWorkspace = int64_t{128} << 20});
    }
    //! The whole layer is one graph, and the library has engines for it, unless it would compile one for this GPU: that
    //! takes a driver.
    static void expectWhole(Described const& of)
    {
        SCOPED_TRACE(fmt::format("{} {}-{}, window {}, {} groups, rank {}, stride {}{}, {} steps", nameOf(of.type),
            of.channels, of.maps, of.window, of.groups, of.rank, of.stride, of.isTransposed ? ", transposed" : "",
            of.steps.size()));
        CudnnPart const whole = cudnnParts(layerOf(of)).front();
        EXPECT_EQ(whole.steps, of.steps.size());
        auto const graph = describe(of, whole, nullptr);
        EXPECT_TRUE(graph) << graph.error().message;
        bool const isReady = std::ranges::all_of(of.steps, [](EpilogueStep const& step) {
            return step.kind == EpilogueKind::kAdd || step.kind == EpilogueKind::kRelu;
        });
        auto const plan = planOf(of, whole);
        EXPECT_TRUE(plan || !isReady) << plan.error().message;
    }
};
} // namespace

TEST_F(CudnnGraphs, convolutionsOfEveryForm)
{
    for (DType const type : {DType::kFLOAT, DType::kHALF, DType::kBF16})
        for (size_t const rank : {1, 2, 3})
            for (int64_t const stride : {1, 2})
                expectWhole({.type = type, .rank = rank, .stride = stride, .hasBias = false});
    expectWhole({.window = 1, .hasBias = false});
    expectWhole({.groups = 4, .hasBias = false});
    expectWhole({.channels = 3, .window = 7, .stride = 2, .hasBias = false});
    expectWhole({.isTransposed = true, .hasBias = false});
    expectWhole({.stride = 2, .isTransposed = true, .hasBias = false});
}

TEST_F(CudnnGraphs, whatFollowsIsPartOfThem)
{
    for (DType const type : {DType::kHALF, DType::kBF16})
    {
        expectWhole({.type = type});
        for (EpilogueStep const& step : std::vector<EpilogueStep>{{EpilogueKind::kRelu},
                 {EpilogueKind::kLeakyRelu, 0.1F}, {EpilogueKind::kClip, 0.0F, 6.0F}, {EpilogueKind::kSigmoid},
                 {EpilogueKind::kTanh}, {EpilogueKind::kSilu}, {EpilogueKind::kGeluErf}, {EpilogueKind::kGeluTanh},
                 {EpilogueKind::kElu, 0.5F}, {EpilogueKind::kAdd}, {EpilogueKind::kMultiply}})
            expectWhole({.type = type, .steps = {step}});
        expectWhole({.type = type, .window = 1, .steps = {{EpilogueKind::kAdd}, {EpilogueKind::kRelu}}});
    }
}

TEST_F(CudnnGraphs, productsAreSuchGraphsToo)
{
    constexpr int64_t kRows{128};
    constexpr int64_t kColumns{3072};
    constexpr int64_t kDepth{768};
    for (bool const isTurned : {false, true})
    {
        CudnnLayer layer{.a = {dnn::kDataHalf, {1, kRows, kDepth}, {kRows * kDepth, kDepth, 1}},
            .b = {dnn::kDataHalf, {1, kDepth, kColumns},
                {kDepth * kColumns, isTurned ? 1 : kColumns, isTurned ? kDepth : 1}},
            .out = {dnn::kDataHalf, {1, kRows, kColumns}, {kRows * kColumns, kColumns, 1}},
            .convolution = {},
            .bias = CudnnTensor{dnn::kDataHalf, {1, 1, kColumns}, {kColumns, kColumns, 1}},
            .extras = {},
            .epilogue = {{{EpilogueKind::kGeluErf}, {EpilogueKind::kAdd}}}};
        layer.extras = {layer.out};
        CudnnPart const whole = cudnnParts(layer).front();
        EXPECT_EQ(whole.steps, 2U);
        auto const graph = describeLayer(api(), {}, layer, whole);
        EXPECT_TRUE(graph) << graph.error().message; // Its kernel would be compiled.
    }
}

//! Heads of a joint projection, heads that share keys, lengths of no multiple. Their kernels would be compiled.
TEST_F(CudnnGraphs, attentionIsOneOperation)
{
    Attention packed;
    packed.q = {{0, 2, 1, 3}, 0, 12};
    packed.k = {{0, 2, 1, 3}, 12, 12};
    packed.v = {{0, 2, 1, 3}, 24, 12};
    packed.outputAxes = {0, 2, 1, 3};
    for (DType const type : {DType::kHALF, DType::kBF16})
    {
        TensorArg const joint{type, Layout::kLinear, {2, 197, 36, 64}};
        AttentionOperands const parts{
            packed, std::vector<TensorArg>{joint, joint, joint}, {type, Layout::kLinear, {2, 197, 12, 64}}};
        auto const graph = describeAttention(api(), {}, parts, type, 0.125F);
        ASSERT_TRUE(graph) << graph.error().message;
        EXPECT_EQ(graph->bindings[2].offset, 24 * 64 * 2);
        TensorArg const many{type, Layout::kLinear, {1, 32, 77, 128}};
        TensorArg const few{type, Layout::kLinear, {1, 8, 131, 128}};
        AttentionOperands const shared{Attention{}, std::vector<TensorArg>{many, few, few}, many};
        EXPECT_TRUE(describeAttention(api(), {}, shared, type, 0.125F));
    }
}

TEST_F(CudnnGraphs, eachLayerHasSeveralPlans)
{
    Described const layer{.steps = {{EpilogueKind::kRelu}}};
    for (int32_t position = 0; position < 8; ++position)
        EXPECT_TRUE(planOf(layer, {true, 1}, position)) << position;
}

} // namespace tenon::test
