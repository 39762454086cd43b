// Chains of steps by lines: the same results as step by step, whatever windows, images, heights and lanes there are.
#include "backends/cpu/line_chain.h"
#include "backends/rows.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>

namespace tenon::test
{

namespace
{
using cpu::LineChain;

//! Each line is the sum of those that it needs, the i-th times i + 1, and of the extra operand, if there is one.
class SumOfLines final : public LineStep
{
  public:
    SumOfLines(LineForm const& form, bool staged)
        : mForm{form},
          mIsStaged{staged}
    {
        mForm.canFollow = !staged;
        mForm.ownScratch = staged ? 4096 : 0;
    }
    size_t linesScratch(int64_t lines) const noexcept override
    {
        return static_cast<size_t>(lines * kOwnBytes);
    }
    size_t scratchBytes() const noexcept override
    {
        return mForm.ownScratch + LineChain::scratchBytes(mForm);
    }
    LineForm const& lineForm() const noexcept override
    {
        return mForm;
    }
    bool needsPreparing() const noexcept override
    {
        return mIsStaged;
    }
    int32_t stages(int32_t) const noexcept override
    {
        return mIsStaged ? 2 : 1;
    }
    void prepareLines(Call const& call, Lane const& lane) const override
    {
        if (lane.index == 0)
            std::fill_n(static_cast<uint8_t*>(call.scratch), mForm.ownScratch, uint8_t{1});
    }
    void runLines(Call const& call, LineShare const& share) const override
    {
        int64_t const width = mForm.outLineBytes / 4;
        uint32_t const bias = mIsStaged ? *static_cast<uint32_t const*>(call.scratch) : 7;
        if (share.scratch != nullptr) // Nobody else's: what stands there is spoilt.
            std::fill_n(static_cast<uint8_t*>(share.scratch), linesScratch(share.last - share.first), uint8_t{0xEE});
        for (int64_t line = share.first; line < share.last; ++line)
        {
            auto* const out = static_cast<uint32_t*>(call.outputs[0]) + line * width;
            auto const* const extra = static_cast<uint32_t const*>(call.inputs[1]);
            int64_t const left = line == share.first ? share.left : 0;
            int64_t const right = width - (line + 1 == share.last ? share.right : 0);
            for (int64_t i = left; i < right; ++i)
                out[i] = bias + (extra == nullptr ? 0 : extra[line * width + i]);
            int64_t const image = line / mForm.outHeight;
            for (int64_t k = 0; k < mForm.reach; ++k)
            {
                int64_t const y = line % mForm.outHeight * mForm.stride - mForm.padTop + k;
                if (y < 0 || y >= mForm.inHeight)
                    continue;
                int64_t const from = image * mForm.inHeight + y;
                auto const* const in = static_cast<uint32_t const*>(call.inputs[0])
                    + (share.inRing > 0 ? from % share.inRing : from) * (mForm.inLineBytes / 4);
                for (int64_t i = left; i < right; ++i)
                    out[i] += in[i % (mForm.inLineBytes / 4)] * static_cast<uint32_t>(k + 1);
            }
        }
    }
    Result<Done> run(Call const& call, Lane const& lane) const override
    {
        auto const [first, last] = lane.part(mForm.images * mForm.outHeight);
        if (lane.stage + 1 < stages(lane.count))
            prepareLines(call, lane);
        else
            runLines(call, {.first = first, .last = last});
        return Done{};
    }

  private:
    static constexpr int64_t kOwnBytes{520};

    LineForm mForm;
    bool mIsStaged;
};

using Tensor = std::vector<uint32_t>;

//! Steps one after the other, each handing its result to the next.
class Steps
{
  public:
    //! `isStaged`: the first one prepares its lines.
    Steps(int64_t images, int64_t height, int64_t lineBytes, int32_t lanes, bool isStaged = true)
        : mLanes{lanes},
          mIsStaged{isStaged}
    {
        mLast.images = images;
        mLast.outHeight = height;
        mLast.outLineBytes = lineBytes;
        mTensors.push_back(random(static_cast<size_t>(mLast.outBytes() / 4)));
    }
    void add(int64_t reach, int64_t stride, int64_t padTop, int64_t lineBytes, bool hasExtra = false)
    {
        LineForm form;
        form.images = mLast.images;
        form.inHeight = mLast.outHeight;
        form.inLineBytes = mLast.outLineBytes;
        form.reach = reach;
        form.stride = stride;
        form.padTop = padTop;
        form.outHeight = (form.inHeight + 2 * padTop - reach) / stride + 1;
        form.outLineBytes = lineBytes;
        form.lanes = mLanes;
        form.outPixels = lineBytes / 4;
        form.isPointwise = reach == 1 && stride == 1 && lineBytes == form.inLineBytes;
        mLast = form;
        SumOfLines const& step = mSteps.emplace_back(form, mIsStaged && mSteps.empty());
        Tensor const& in = mTensors.back();
        mTensors.push_back(random(static_cast<size_t>(form.outBytes() / 4)));
        Tensor const* const extra = hasExtra ? &mExtras.emplace_back(random(mTensors.back().size())) : nullptr;
        mInputs.push_back({in.data(), extra == nullptr ? nullptr : extra->data()});
        mOutputs.push_back({mTensors.back().data()});
        mScratchBytes = std::max(mScratchBytes, step.scratchBytes());
        Launch launch;
        launch.prepared = &step;
        launch.call.inputs = mInputs.back().data();
        launch.call.outputs = mOutputs.back().data();
        launch.inputCount = 2;
        launch.outputCount = 1;
        if (!launches.empty())
            launches.back().isHandedOver = true;
        launches.push_back(launch);
    }
    //! The last output, all others holding what they held.
    Tensor run(bool byChains, int32_t threads)
    {
        std::vector<uint8_t> scratch(mScratchBytes);
        for (Launch& launch : launches)
            launch.call.scratch = scratch.data();
        std::ranges::fill(mTensors.back(), 0U);
        RunOptions options;
        options.stream = kApartStream;
        options.hostThreads = threads;
        StepObserver const observer = [](Launch const&, double) { return true; };
        options.observer = byChains ? nullptr : &observer;
        RunFailure failure;
        EXPECT_TRUE(cpuWithKernels().run(launches, options, failure));
        return mTensors.back();
    }
    Tensor const& tensor(size_t i) const
    {
        return mTensors[i];
    }
    void putOutput(size_t step, void* memory)
    {
        mOutputs[step][0] = static_cast<uint32_t*>(memory);
    }
    void putExtra(size_t step, void const* memory)
    {
        mInputs[step][1] = memory;
    }

    std::vector<Launch> launches;

  private:
    static Tensor random(size_t count)
    {
        static std::mt19937 engine{7};
        Tensor tensor(count);
        for (uint32_t& each : tensor)
            each = engine();
        return tensor;
    }

    int32_t mLanes;
    bool mIsStaged;
    LineForm mLast;
    size_t mScratchBytes{0};
    std::deque<SumOfLines> mSteps;
    std::deque<Tensor> mTensors;
    std::deque<Tensor> mExtras;
    std::deque<std::array<void const*, 2>> mInputs;
    std::deque<std::array<void*, 1>> mOutputs;
};
} // namespace

TEST(LineChain, givesWhatStepByStepGives)
{
    std::mt19937 random{11};
    auto const between = [&](int64_t low, int64_t high) {
        return std::uniform_int_distribution<int64_t>{low, high}(random);
    };
    for (int32_t const lanes : {1, 2, 3})
        for (int i = 0; i < 3; ++i)
        {
            Steps steps{between(1, 2), between(240, 300), 1024, lanes};
            steps.add(3, 2, 1, 12288);
            for (int64_t k = between(1, 4); k > 0; --k)
            {
                int64_t const reach = between(1, 4);
                steps.add(reach, 1, reach / 2, between(160, 224) * 64, between(0, 1) == 1);
            }
            EXPECT_GE((LineChain{steps.launches, lanes}.count()), 2U);
            Tensor const handedOver = steps.tensor(1);
            Tensor const inChains = steps.run(true, lanes);
            EXPECT_EQ(steps.tensor(1), handedOver) << "what stays in the chain has no need of its memory";
            EXPECT_TRUE(inChains == steps.run(false, lanes));
            EXPECT_TRUE(inChains == steps.run(true, lanes + 1)) << "one more than were prepared for";
        }
}

//! Which way takes the lane with most to do least depends on what steps cost: each of them, and pixels at the seams.
TEST(LineChain, fewLinesAreSharedOutByPixelsOrToTheFirstLanes)
{
    for (int64_t const height : {5, 7, 11, 13, 26})
        for (int64_t const stride : {1, 2})
            for (int32_t const lanes : {1, 2, 3, 4})
                for (std::array<float, 3> const& costs : std::vector<std::array<float, 3>>{
                         {1.0F, 1.0F, 1.0F}, {9.0F, 1.0F, 1.0F}, {1.0F, 1.0F, 9.0F}, {0.0F, 0.0F, 0.0F}})
                {
                    Steps steps{1, height * stride, 65536, lanes, false};
                    steps.add(3, 1, 1, 65536);
                    steps.add(3, stride, 1, 98304);
                    steps.add(1, 1, 0, 98304, true);
                    steps.add(1, 1, 0, 98304);
                    steps.launches[1].isHandedOver = costs[0] < 5.0F; // Chains of one head or of another.
                    for (size_t i = 0; i < costs.size(); ++i)
                        steps.launches[i + 1].cost = costs[i];
                    Tensor const inChains = steps.run(true, lanes);
                    EXPECT_TRUE(inChains == steps.run(false, lanes))
                        << height << " lines, stride " << stride << ", " << lanes << " lanes, costs " << costs[0];
                }
}

//! Of seven lines at stride 2 the first lane needs eight of the lines above for four, or nine of them the second
//! one, as both do for three and a half.
TEST(LineChain, sharesOutByPixelsUnlessLinesAboveCostMore)
{
    for (bool const isLastDear : {true, false})
    {
        Steps steps{1, 14, 65536, 2, false};
        steps.add(1, 1, 0, 98304);
        steps.add(3, 2, 1, 98304);
        steps.add(1, 1, 0, 98304);
        steps.launches[0].cost = isLastDear ? 1.0F : 9.0F;
        steps.launches[1].cost = 1.0F;
        steps.launches[2].cost = isLastDear ? 9.0F : 1.0F;
        LineChain const chain{steps.launches, 2};
        ASSERT_EQ(chain.count(), 3U);
        EXPECT_EQ(chain.isByPixels(), isLastDear);
    }
}

TEST(LineChain, stridesWithinAChain)
{
    for (int32_t const lanes : {1, 2})
    {
        Steps steps{2, 333, 1024, lanes};
        steps.add(1, 1, 0, 16384);
        steps.add(3, 2, 1, 8192);
        steps.add(1, 1, 0, 4096);
        EXPECT_EQ((LineChain{steps.launches, lanes}.count()), 3U);
        Tensor const inChains = steps.run(true, lanes);
        EXPECT_TRUE(inChains == steps.run(false, lanes));
    }
}

TEST(LineChain, endsBeforeAnOutputThatIsReadMeanwhile)
{
    Steps steps{1, 64, 65536, 2};
    steps.add(1, 1, 0, 65536);
    steps.add(3, 1, 1, 65536);
    steps.add(1, 1, 0, 65536, true);
    EXPECT_EQ((LineChain{steps.launches, 2}.count()), 3U);
    auto* const first = const_cast<uint32_t*>(steps.tensor(0).data());
    steps.putOutput(2, first); // Where the chain's input stands.
    EXPECT_EQ((LineChain{steps.launches, 2}.count()), 2U);
    steps.putExtra(2, first); // The sum goes in place, and the first step reads it, too.
    EXPECT_EQ((LineChain{steps.launches, 2}.count()), 2U);
    Tensor sum(steps.tensor(3).size());
    steps.putOutput(2, sum.data());
    steps.putExtra(2, sum.data()); // Nobody else reads it: each line is added to when it is made.
    EXPECT_EQ((LineChain{steps.launches, 2}.count()), 3U);
}

//! As in a residual block: what lanes write over, those beside them have kept before.
TEST(LineChain, addsInPlaceOfWhatTheFirstStepReads)
{
    for (int64_t const images : {1, 2})
        for (int64_t const reach : {1, 3, 5})
            for (int32_t const lanes : {1, 2, 3})
            {
                Steps steps{images, 57, 4096, lanes, false};
                steps.add(1, 1, 0, 16384);
                steps.add(reach, 1, reach / 2, 16384);
                steps.add(1, 1, 0, 4096, true);
                auto* const first = const_cast<uint32_t*>(steps.tensor(0).data());
                steps.putOutput(2, first);
                steps.putExtra(2, first);
                EXPECT_EQ((LineChain{steps.launches, lanes}.count()), 3U);
                Tensor const before = steps.tensor(0);
                steps.run(false, lanes);
                Tensor const expected = steps.tensor(0);
                for (int32_t const threads : {lanes, lanes + 1})
                {
                    std::ranges::copy(before, first);
                    steps.run(true, threads);
                    EXPECT_TRUE(steps.tensor(0) == expected)
                        << images << " images, " << reach << " taps, " << lanes << " lanes, " << threads << " threads";
                }
            }
}

TEST(LineChain, putsNothingInPlaceThatIsReadLater)
{
    Steps steps{1, 64, 16384, 2, false};
    steps.add(1, 1, 0, 65536);
    steps.add(3, 1, 0, 65536); // Lines of the output lie elsewhere than those of the input.
    steps.add(1, 1, 0, 16384);
    steps.putOutput(2, const_cast<uint32_t*>(steps.tensor(0).data()));
    EXPECT_EQ((LineChain{steps.launches, 2}.count()), 2U);
}

TEST(LineChain, fewLinesAreNotMadeTwice)
{
    for (int32_t const lanes : {1, 4})
    {
        Steps steps{1, 20, 65536, lanes};
        steps.add(1, 1, 0, 65536);
        steps.add(3, 1, 1, 65536);
        EXPECT_EQ((LineChain{steps.launches, lanes}.count()), lanes == 1 ? 2U : 0U);
    }
}

TEST(LineChain, linesThatALaneCannotKeepGoToMemory)
{
    Steps steps{1, 24, 262144, 1};
    steps.add(1, 1, 0, 262144);
    steps.add(3, 1, 1, 262144);
    steps.add(1, 1, 0, 262144);
    EXPECT_EQ((LineChain{steps.launches, 1}.count()), 0U);
    EXPECT_EQ((LineChain{std::span{steps.launches}.subspan(1), 1}.count()), 2U);
}

TEST(LineChain, doesNotEndWithATensorLargerThanTheOneBefore)
{
    Steps steps{1, 48, 65536, 1};
    steps.add(1, 1, 0, 65536);
    steps.add(1, 1, 0, 262144);
    EXPECT_EQ((LineChain{steps.launches, 1}.count()), 2U);
    steps.add(3, 1, 1, 65536); // Three lines of the large tensor are too many.
    EXPECT_EQ((LineChain{steps.launches, 1}.count()), 0U);
}

TEST(LineChain, smallTensorsStayAsTheyAre)
{
    Steps steps{1, 64, 1024, 2};
    steps.add(1, 1, 0, 1024);
    steps.add(3, 1, 1, 1024);
    EXPECT_EQ((LineChain{steps.launches, 2}.count()), 0U);
    EXPECT_EQ(LineChain::scratchBytes(hostPrepared(*steps.launches[0].prepared).byLines()->lineForm()), 0U);
}

} // namespace tenon::test
