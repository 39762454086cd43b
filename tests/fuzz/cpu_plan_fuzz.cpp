// Mutated plans of the CPU's own kernels, through the public calls: each is refused with a reason, or loads and then
// runs or refuses to. Run under AddressSanitizer. Nothing may take more memory than a limit.
//
// TENON_FUZZ_PLANS sets the number of mutations (12,000), TENON_FUZZ_SEED the first seed.
#include "fuzz/plan_mutator.h"
#include "fuzz/tally.h"
#include "plan/check.h"
#include "support/cpu_networks.h"
#include "support/device.h"
#include "tenon/tenon.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace tenon::test
{

namespace
{
using nvinfer1::Dims;

constexpr int64_t kMaxPlanBytes{1 << 22}; //!< Of one tensor, or of the arena.
constexpr uint64_t kMaxScratch{1 << 26};  //!< Kernels size theirs for all lanes that there might be.

//! Refuses what no small network needs.
class LimitedMemory final : public nvinfer1::IGpuAllocator
{
  public:
    void* allocate(uint64_t size, uint64_t alignment, nvinfer1::AllocatorFlags) noexcept override
    {
        if (size > kMaxScratch)
            return nullptr;
        return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    }
    bool deallocate(void* memory) noexcept override
    {
        std::free(memory);
        return true;
    }
};

//! Loads a blob and runs what loaded, every tensor in exactly as many bytes as it needs.
class CpuPlanRunner
{
  public:
    explicit CpuPlanRunner(int32_t threads)
        : mRuntime{cpuRuntime(mMessages)}
    {
        mRuntime->setMaxThreads(threads);
        mRuntime->setGpuAllocator(&mMemory);
    }
    ~CpuPlanRunner()
    {
        mContext.reset();
        mEngine.reset();
    }

    bool load(Bytes const& blob)
    {
        mEngine.reset(mRuntime->deserializeCudaEngine(blob.data(), blob.size()));
        EXPECT_EQ(mEngine == nullptr, !mMessages.errors.empty()) << mMessages.errors;
        return mEngine != nullptr;
    }

    bool run(nvinfer1::OptProfileSelector point)
    {
        mTensors.clear();
        mContext.reset(mEngine->createExecutionContext(nvinfer1::ExecutionContextAllocationStrategy::kUSER_MANAGED));
        if (mContext == nullptr || !setInputs(point))
            return false;
        size_t const bytes = mContext->updateDeviceMemorySizeForShapes();
        if (bytes > static_cast<size_t>(kMaxPlanBytes))
            return false;
        DeviceArray<char> const arena{bytes};
        mContext->setDeviceMemoryV2(arena.data(), static_cast<int64_t>(bytes));
        mContext->setTemporaryStorageAllocator(&mMemory);
        for (int32_t i = 0; i < mEngine->getNbIOTensors(); ++i)
        {
            char const* const name = mEngine->getIOTensorName(i);
            if (mEngine->getTensorIOMode(name) == nvinfer1::TensorIOMode::kOUTPUT
                && !give(name, mContext->getMaxOutputSize(name)))
                return false;
        }
        return mContext->enqueueV3(static_cast<cudaStream_t>(deviceUnderTest().stream()));
    }

    //! Verification of a plan that ran; true when it came to an answer, whatever that is.
    bool verify()
    {
        TenonVerifyOptions const options{0.0, 0.0, 1, 0};
        TenonText problem{nullptr};
        TenonText const report = tenonVerify(mEngine.get(), nullptr, 0, &options, &problem);
        EXPECT_NE(report == nullptr, problem == nullptr);
        bool const isDone = report != nullptr;
        tenonFree(isDone ? report : problem);
        return isDone;
    }

  private:
    bool setInputs(nvinfer1::OptProfileSelector point)
    {
        for (int32_t i = 0; i < mEngine->getNbIOTensors(); ++i)
        {
            char const* const name = mEngine->getIOTensorName(i);
            if (mEngine->getTensorIOMode(name) != nvinfer1::TensorIOMode::kINPUT)
                continue;
            Dims const dims = mEngine->getProfileShape(name, 0, point);
            if (dims.nbDims < 0 || !mContext->setInputShape(name, dims))
                return false;
            std::span<int64_t const> const extents{dims.d, static_cast<size_t>(dims.nbDims)};
            auto const type = static_cast<DType>(mEngine->getTensorDataType(name));
            if (!give(name, bytesOf(type, Layout::kLinear, extents)))
                return false;
        }
        return true;
    }

    bool give(char const* name, int64_t bytes)
    {
        if (bytes < 0 || bytes > kMaxPlanBytes)
            return false;
        // Floats of sensible size, so that arithmetic is exercised and not only NaNs.
        std::vector<float> const values = randomFloats(static_cast<size_t>(bytes / 4) + 1, 3);
        mTensors.push_back(std::make_unique<DeviceArray<char>>(static_cast<size_t>(bytes)));
        deviceUnderTest().copyIn(mTensors.back()->data(), values.data(), static_cast<size_t>(bytes));
        return mContext->setTensorAddress(name, mTensors.back()->data());
    }

    KeptMessages mMessages;
    LimitedMemory mMemory;
    std::unique_ptr<nvinfer1::IRuntime> mRuntime;
    std::unique_ptr<nvinfer1::ICudaEngine> mEngine;
    std::unique_ptr<nvinfer1::IExecutionContext> mContext;
    std::vector<std::unique_ptr<DeviceArray<char>>> mTensors;
};

std::vector<Bytes> const& seeds()
{
    static std::vector<Bytes> const all = [] {
        std::vector<Bytes> plans;
        for (CpuCase const& one : cpuCases())
            plans.push_back(planOf(one));
        return plans;
    }();
    return all;
}

void tryPlan(Bytes const& blob, uint64_t number, Tally& tally)
{
    ++tally.mutations;
    std::string const reason = reasonAgainst(blob);
    tally.pastSchema += reason.empty() || !isOuterDamage(reason) ? 1 : 0;
    CpuPlanRunner runner{number % 2 == 0 ? 1 : 2};
    if (!runner.load(blob))
        return;
    EXPECT_TRUE(reason.empty()) << reason;
    ++tally.loaded;
    using Point = nvinfer1::OptProfileSelector;
    bool const small = runner.run(Point::kMIN);
    bool const large = runner.run(number % 4 < 2 ? Point::kMAX : Point::kOPT);
    tally.ran += small || large ? 1 : 0;
    if (number % 4 == 3 && large)
        tally.verified += runner.verify() ? 1 : 0;
}
} // namespace

TEST(CpuPlanFuzz, seedsLoadAndRun)
{
    for (Bytes const& seed : seeds())
    {
        Tally tally;
        tryPlan(seed, 0, tally);
        EXPECT_EQ(tally.loaded, 1U);
        EXPECT_EQ(tally.ran, 1U);
    }
}

TEST(CpuPlanFuzz, O1_mutatedPlansAreRefusedOrRun)
{
    uint64_t const count = numberFrom("TENON_FUZZ_PLANS", 12000);
    uint64_t const first = numberFrom("TENON_FUZZ_SEED", 0);
    Tally tally;
    for (uint64_t i = first; i < first + count; ++i)
    {
        SCOPED_TRACE(i);
        PlanMutator mutator{static_cast<uint32_t>(i)};
        Bytes blob = seeds()[i % seeds().size()];
        uint64_t const how = i / seeds().size() % 10;
        if (how < 2)
            mutator.damage(blob);
        else if (how < 4)
            mutator.rewriteWords(blob);
        else
        {
            auto const owner = std::make_shared<Bytes const>(std::move(blob));
            Plan plan = *readPlan(*owner, owner);
            mutator.changeFields(plan);
            blob = writeUncheckedPlan(plan);
        }
        tally.resealed += how < 2 ? 0 : 1;
        tryPlan(blob, i, tally);
    }
    tally.print();
    EXPECT_GE(tally.resealed * 2, tally.mutations);
    EXPECT_GE(tally.pastSchema * 3, tally.mutations) << "at least a third must get past the schema verifier";
    EXPECT_GT(tally.loaded * 10, tally.mutations) << "many must load, or no kernel is tested";
    EXPECT_GT(tally.ran * 20, tally.mutations);
    EXPECT_GT(tally.verified, 0U);
}

} // namespace tenon::test
