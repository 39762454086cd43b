// Chains of convolutions whose windows the copy engine fetches: each step reads what the two before it wrote, and
// writes over what the one before it reads. Runs as a graph, whose kernels overlap on a GPU, give what the steps give
// one by one, bit for bit.
#include "backends/cuda_cases.h"
#include "device/fence.h"
#include "ir/host_tensor.h"
#include "layers/convolution.h"

#include <array>

namespace tenon::test
{

namespace
{
class KernelChains : public CudaKernels
{
};

struct Way
{
    std::string candidate;
    int64_t tactic;
};

struct ChainListener final : RunListener
{
    Error failed(RunFailure const& failure) override
    {
        return failure.error;
    }
};

//! Images of 64 channels, three of them in turns.
class Chain
{
  public:
    Chain(std::vector<Way> const& ways, std::vector<int64_t> extents)
        : mExtents{std::move(extents)},
          mBytes{static_cast<size_t>(volumeOf(mExtents)) * sizeof(uint16_t)}
    {
        for (size_t i = 0; i < kImages; ++i)
            mImages.push_back(mDevice.allocate(mBytes));
        for (Way const& way : ways)
        {
            Result<Done> const done = add(way);
            EXPECT_TRUE(done) << way.candidate << ": " << (done ? std::string{} : done.error().message);
        }
        HostTensor const start = randomTensor(mExtents, -1.0, 1.0, DType::kHALF);
        mStart.resize(mBytes);
        start.toBytes(mStart.data());
    }
    Chain(Chain const&) = delete;
    Chain& operator=(Chain const&) = delete;
    ~Chain()
    {
        for (void* const each : mImages)
            mDevice.release(each);
        for (Step const& each : mSteps)
            for (void* const memory : each.memory)
                mDevice.release(memory);
    }
    //! What all images hold behind a run from the same start; `together`: of all steps as one list.
    std::vector<uint8_t> run(bool together)
    {
        for (void* const image : mImages)
            EXPECT_TRUE(mDevice.copyFromHost(image, mStart.data(), mBytes, kApartStream));
        std::vector<Launch> launches;
        std::vector<std::array<void const*, 4>> inputs(kLength);
        std::vector<void*> outputs(kLength);
        for (size_t i = 0; i < kLength; ++i)
        {
            Step const& step = mSteps[i % mSteps.size()];
            inputs[i] = {mImages[(i + 1) % kImages], step.memory[0], nullptr, mImages[i % kImages]};
            outputs[i] = mImages[(i + 2) % kImages];
            launches.push_back({step.prepared.get(), Call{inputs[i].data(), &outputs[i], step.memory[1], nullptr}, 0,
                inputs[i].size(), 1});
        }
        size_t const each = together ? kLength : 1;
        for (size_t i = 0; i < kLength; i += each)
        {
            RunFailure failure;
            auto const done = mDevice.run(std::span{launches}.subspan(i, each),
                {.stream = kApartStream, .fence = mFence.get(), .listener = &mListener}, failure);
            EXPECT_TRUE(done) << (done ? std::string{} : done.error().message);
            EXPECT_TRUE(mFence->wait(nullptr));
        }
        std::vector<uint8_t> all(kImages * mBytes);
        for (size_t i = 0; i < kImages; ++i)
            EXPECT_TRUE(mDevice.copyToHost(all.data() + i * mBytes, mImages[i], mBytes, kApartStream));
        return all;
    }

  private:
    static constexpr size_t kImages{3};
    static constexpr size_t kLength{8};

    struct Step
    {
        std::unique_ptr<Kernel> kernel;
        std::shared_ptr<Prepared const> prepared;
        std::vector<void*> memory; //!< Weights and scratch.
    };

    Result<Done> add(Way const& way)
    {
        constexpr double kSmall{0.03}; // Results neither grow nor vanish.
        int64_t const channels = mExtents[1];
        Convolution layer;
        layer.nbOutputMaps = channels;
        layer.kernelSize = nvinfer1::Dims2{3, 3};
        layer.prePadding = layer.postPadding = nvinfer1::Dims2{1, 1};
        layer.epilogue.steps = {{EpilogueKind::kAdd}, {EpilogueKind::kRelu}};
        HostTensor const filter = randomTensor({channels, channels, 3, 3}, -kSmall, kSmall, DType::kHALF);
        TensorArg const image{DType::kHALF, Layout::kChannelsLast, mExtents};
        Graph graph;
        ValueId const x = graph.addInput("x", {DType::kHALF, shapeOf(mExtents)});
        ValueId const w = graph.addConstant("w", filter.toConstant());
        ValueId const other = graph.addInput("other", {DType::kHALF, shapeOf(mExtents)});
        NodeId const node = TENON_TRY(graph.addNode(makeLayer(layer), "layer", {x, w, kNone, other}));
        Target const target = backendUnderTest().target(0);
        Offer offer;
        offer.candidate = way.candidate;
        offer.inputs.assign(4, Layout::kChannelsLast);
        offer.inputs[1] = offer.inputs[2] = Layout::kLinear;
        offer.outputs = {Layout::kChannelsLast};
        offer.tactic = way.tactic;
        KernelSpec const spec =
            TENON_TRY(backendUnderTest().backend().build({&graph, &graph.node(node), {}, &target}, offer));
        EXPECT_EQ(spec.packed.size(), 1U);
        PackedWeight const& packed = spec.packed.front();
        std::vector<WeightArg> weights(4);
        weights[1] = {packed.data->data, packed.bytes, packed.data->dtype, packed.data->extents, packed.packing};
        Step& step = mSteps.emplace_back();
        step.memory.push_back(mDevice.allocate(packed.bytes));
        TENON_TRY(mDevice.copyFromHost(step.memory[0], packed.data->data, packed.bytes, kApartStream));
        step.kernel = TENON_TRY(mDevice.load({.kernel = spec.kernel, .args = spec.args, .weights = weights}));
        std::vector<TensorArg> const inputs{
            image, {DType::kHALF, Layout::kLinear, filter.extents}, {.present = false}, image};
        step.prepared = TENON_TRY(step.kernel->prepare(inputs, {&image, 1}, 1));
        step.memory.push_back(mDevice.allocate(step.prepared->scratchBytes() + 1));
        return Done{};
    }

    Device& mDevice{backendUnderTest().device(0)};
    std::vector<int64_t> mExtents;
    size_t mBytes;
    std::vector<void*> mImages;
    std::vector<Step> mSteps;
    std::vector<uint8_t> mStart;
    std::unique_ptr<Fence> mFence{mDevice.makeFence()};
    ChainListener mListener;
};
} // namespace

TEST_F(KernelChains, windowsByTheCopyEngine)
{
    Chain chain{{{"early tiles", 3}, {"early tiles", 11}, {"large tiles", 3}, {"early tiles", 13}}, {1, 64, 10, 10}};
    ASSERT_FALSE(HasFailure());
    std::vector<uint8_t> const expected = chain.run(false);
    for (int round = 0; round < 4; ++round) // The second one records a graph.
        ASSERT_EQ(chain.run(true), expected) << "round " << round;
}

} // namespace tenon::test
