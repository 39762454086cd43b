// Chains of convolutions by lines, as in inverted residual blocks: in each type of real numbers the same bits as step
// by step, however lines are shared out.
#include "backends/cpu/line_chain.h"
#include "backends/kernel_case.h"
#include "base/isa.h"
#include "ir/host_tensor.h"
#include "layers/convolution.h"

#include <fmt/format.h>

#include <cstring>
#include <random>

namespace tenon::test
{

namespace
{
//! Expanded, each channel with 3 × 3 taps, projected.
struct Block
{
    int64_t images;
    int64_t height;
    int64_t width;
    int64_t channels;
    int64_t expanded;
    int64_t projected;
    int64_t stride;
};

BackendEntry const& cpu()
{
    auto const all = allBackends();
    return *std::ranges::find(all, std::string_view{"cpu"}, &BackendEntry::name);
}

class BlockChain
{
  public:
    BlockChain(Block const& block, DType type, int32_t lanes)
        : mType{type},
          mLanes{lanes}
    {
        mTensors.push_back(bytesOf(randomTensor({block.images, block.channels, block.height, block.width})));
        mExtents.push_back({block.images, block.channels, block.height, block.width});
        add(block.expanded, 1, 1, 1, EpilogueKind::kClip);
        add(block.expanded, 3, block.stride, block.expanded, EpilogueKind::kClip);
        add(block.projected, 1, 1, 1, EpilogueKind::kHardSwish);
        for (size_t i = 0; i + 1 < mLaunches.size(); ++i)
            mLaunches[i].isHandedOver = true;
        for (size_t i = 0; i < mLaunches.size(); ++i)
        {
            mInputs.push_back({mTensors[i].data(), nullptr, mBiases[i].data()});
            mOutputs.push_back({mTensors[i + 1].data()});
        }
        mScratch.resize(mScratchBytes);
        for (size_t i = 0; i < mLaunches.size(); ++i)
        {
            mLaunches[i].call.inputs = mInputs[i].data();
            mLaunches[i].call.outputs = mOutputs[i].data();
            mLaunches[i].call.scratch = mScratch.data();
        }
    }
    bool isWhole() const
    {
        return mLaunches.size() == 3;
    }
    size_t count() const
    {
        return cpu::LineChain{mLaunches, mLanes}.count();
    }
    std::vector<uint8_t> run(bool byChains)
    {
        std::ranges::fill(mTensors.back(), uint8_t{0});
        StepObserver const observer = [](Launch const&, double) { return true; };
        RunOptions options;
        options.stream = kApartStream;
        options.hostThreads = mLanes;
        options.observer = byChains ? nullptr : &observer;
        RunFailure failure;
        EXPECT_TRUE(cpu().device(0).run(mLaunches, options, failure));
        return mTensors.back();
    }

  private:
    std::vector<uint8_t> bytesOf(HostTensor tensor) const
    {
        tensor.dtype = mType;
        std::vector<uint8_t> bytes(static_cast<size_t>(tenon::bytesOf(mType, tensor.count())));
        tensor.toBytes(bytes.data());
        return bytes;
    }
    void add(int64_t maps, int64_t taps, int64_t stride, int64_t groups, EpilogueKind kind)
    {
        std::vector<int64_t> const in = mExtents.back();
        std::vector<int64_t> const out{
            in[0], maps, (in[2] + taps - 1 - taps) / stride + 1, (in[3] + taps - 1 - taps) / stride + 1};
        Convolution layer;
        layer.nbOutputMaps = maps;
        layer.nbGroups = groups;
        layer.kernelSize = nvinfer1::Dims2{static_cast<int32_t>(taps), static_cast<int32_t>(taps)};
        layer.stride = nvinfer1::Dims2{static_cast<int32_t>(stride), static_cast<int32_t>(stride)};
        layer.prePadding = layer.postPadding =
            nvinfer1::Dims2{static_cast<int32_t>(taps / 2), static_cast<int32_t>(taps / 2)};
        layer.epilogue.steps = {
            {kind, kind == EpilogueKind::kClip ? -0.5F : 0.2F, kind == EpilogueKind::kClip ? 1.0F : 0.5F}};
        HostTensor const filter = randomTensor({maps, in[1] / groups, taps, taps}, -0.5, 0.5, mType);
        // A chain takes operands to be as large as the output at most, and nothing of it to lie in their memory.
        mBiases.push_back(bytesOf(randomTensor({maps})));
        mBiases.back().resize(
            std::max(mBiases.back().size(), static_cast<size_t>(tenon::bytesOf(mType, volumeOf(out)))));
        auto graph = std::make_unique<Graph>();
        ValueId const x = graph->addInput("x", {mType, shapeOf(in)});
        ValueId const w = graph->addConstant("w", filter.toConstant());
        ValueId const b = graph->addInput("b", {mType, shapeOf({maps})});
        auto const node = graph->addNode(makeLayer(layer), "layer", {x, w, b});
        ASSERT_TRUE(node);
        Target const target = cpu().target(0);
        Offer offer;
        offer.candidate = groups > 1 ? "depthwise" : "rows";
        offer.inputs.assign(3, Layout::kChannelsLast);
        offer.outputs = {Layout::kChannelsLast};
        auto const spec = cpu().backend().build({graph.get(), &graph->node(*node), {}, &target}, offer);
        ASSERT_TRUE(spec);
        PackedWeight const& packed = spec->packed.front();
        std::vector<WeightArg> weights(3);
        weights[1] = {packed.data->data, packed.bytes, packed.data->dtype, packed.data->extents, packed.packing};
        mPacked.push_back(packed);
        auto kernel = cpu().device(0).load({.kernel = spec->kernel, .args = spec->args, .weights = weights});
        ASSERT_TRUE(kernel);
        mKernels.push_back(std::move(*kernel));
        std::vector<TensorArg> const inputs{{mType, Layout::kChannelsLast, in},
            {mType, Layout::kLinear, filter.extents}, {mType, Layout::kLinear, {maps}}};
        TensorArg const output{mType, Layout::kChannelsLast, out};
        auto prepared = mKernels.back()->prepare(inputs, {&output, 1}, mLanes);
        ASSERT_TRUE(prepared) << prepared.error().message;
        mPrepared.push_back(*prepared);
        mScratchBytes = std::max(mScratchBytes, mPrepared.back()->scratchBytes());
        Launch launch;
        launch.prepared = mPrepared.back().get();
        launch.inputCount = 3;
        launch.outputCount = 1;
        mLaunches.push_back(launch);
        mExtents.push_back(out);
        mTensors.push_back(std::vector<uint8_t>(static_cast<size_t>(tenon::bytesOf(mType, volumeOf(out)))));
    }

    DType mType;
    int32_t mLanes;
    std::vector<std::vector<int64_t>> mExtents;
    std::vector<std::vector<uint8_t>> mTensors;
    std::vector<std::vector<uint8_t>> mBiases;
    std::vector<PackedWeight> mPacked;
    std::vector<std::unique_ptr<Kernel>> mKernels;
    std::vector<std::shared_ptr<Prepared const>> mPrepared;
    std::vector<std::array<void const*, 3>> mInputs;
    std::vector<std::array<void*, 1>> mOutputs;
    std::vector<Launch> mLaunches;
    std::vector<uint8_t> mScratch;
    size_t mScratchBytes{0};
};

//! How many steps went together.
size_t expectSame(Block const& block, DType type, int32_t lanes)
{
    SCOPED_TRACE(fmt::format("{} images of {} x {}, {} to {} to {}, stride {}, {}, {} lanes", block.images,
        block.height, block.width, block.channels, block.expanded, block.projected, block.stride, nameOf(type), lanes));
    BlockChain chain{block, type, lanes};
    if (!chain.isWhole())
        return 0;
    EXPECT_TRUE(chain.run(true) == chain.run(false));
    return chain.count();
}

constexpr DType kTypes[]{DType::kFLOAT, DType::kHALF, DType::kBF16};
} // namespace

TEST(ConvolutionChain, blocksOfAllTypes)
{
    for (Isa const isa : {Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Bf16})
    {
        capIsa(isa);
        for (DType const type : kTypes)
        {
            EXPECT_EQ(expectSame({1, 56, 56, 24, 144, 24, 1}, type, 1), 3U);
            EXPECT_EQ(expectSame({1, 56, 56, 24, 144, 32, 2}, type, 2), 3U);
            EXPECT_EQ(expectSame({2, 40, 41, 17, 90, 19, 1}, type, 2), 3U); // Neither rows nor columns in whole tiles.
            // Depths that are made in parts, lines of fewer rows than a tile has.
            EXPECT_GE(expectSame({1, 150, 7, 40, 600, 100, 1}, type, 2), 2U);
        }
    }
    capIsa(Isa::kAmxFp16);
}

//! --gtest_shuffle with --gtest_repeat draws others each time.
TEST(ConvolutionChain, randomBlocks)
{
    std::mt19937 random{static_cast<unsigned>(testing::UnitTest::GetInstance()->random_seed())};
    auto const between = [&](int64_t low, int64_t high) {
        return std::uniform_int_distribution<int64_t>{low, high}(random);
    };
    size_t chained{0};
    for (int i = 0; i < 24; ++i)
    {
        Block const block{between(1, 2), between(20, 70), between(3, 60), between(1, 70), between(30, 200),
            between(1, 90), between(1, 2)};
        int32_t const lanes = i % 4 == 3 ? 16 : static_cast<int32_t>(between(1, 3));
        capIsa(i % 2 == 0 ? Isa::kAvx2 : Isa::kAmxFp16);
        chained += expectSame(block, kTypes[i % 3], lanes) > 0 ? 1 : 0;
    }
    capIsa(Isa::kAmxFp16);
    EXPECT_GE(chained, 4U);
}

} // namespace tenon::test
