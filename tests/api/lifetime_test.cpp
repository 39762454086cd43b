// Handles in every order of their ends, and in other threads than those that made them (rule A9).
#include "fixture.h"

#include <array>
#include <functional>
#include <numeric>
#include <thread>

namespace apitest
{

namespace
{
//! One handle of each kind, and a run of the context.
class Handles
{
  public:
    Handles(ILogger& logger, IHostMemory const& plan)
        : mRuntime{createInferRuntime(logger)},
          mEngine{mRuntime->deserializeCudaEngine(plan.data(), plan.size())},
          mContext{mEngine->createExecutionContext()},
          mInspector{mEngine->createEngineInspector()},
          mConfig{mEngine->createRuntimeConfig()},
          mSerialization{mEngine->createSerializationConfig()},
          mMemory{mEngine->serialize()}
    {
        mConfig->setExecutionContextAllocationStrategy(ExecutionContextAllocationStrategy::kON_PROFILE_CHANGE);
        EXPECT_TRUE(mInspector->setExecutionContext(mContext.get()));
        EXPECT_TRUE(mContext->setTensorAddress("x", mX.data()) && mContext->setTensorAddress("y", mY.data()));
    }
    static constexpr size_t kCount{7};

    void drop(size_t which)
    {
        std::array<std::function<void()>, kCount> const drops{[&] { mRuntime.reset(); }, [&] { mEngine.reset(); },
            [&] { mContext.reset(); }, [&] { mInspector.reset(); }, [&] { mConfig.reset(); },
            [&] { mSerialization.reset(); }, [&] { mMemory.reset(); }};
        drops.at(which)();
    }
    bool startRun()
    {
        return mContext->enqueueV3(stream());
    }
    //! What is left still works.
    void use()
    {
        if (mEngine != nullptr)
        {
            EXPECT_STREQ(mEngine->getIOTensorName(1), "y");
        }
        if (mContext != nullptr)
        {
            EXPECT_STREQ(mContext->getEngine().getIOTensorName(0), "x");
            EXPECT_TRUE(runToEnd(*mContext));
            expectResult();
        }
        if (mInspector != nullptr)
        {
            EXPECT_NE(mInspector->getEngineInformation(LayerInformationFormat::kJSON), nullptr);
        }
        if (mConfig != nullptr)
        {
            EXPECT_EQ(mConfig->getExecutionContextAllocationStrategy(),
                ExecutionContextAllocationStrategy::kON_PROFILE_CHANGE);
        }
        if (mSerialization != nullptr)
        {
            EXPECT_TRUE(mSerialization->setFlag(SerializationFlag::kEXCLUDE_LEAN_RUNTIME));
        }
        if (mMemory != nullptr)
        {
            EXPECT_GT(std::accumulate(static_cast<uint8_t const*>(mMemory->data()),
                          static_cast<uint8_t const*>(mMemory->data()) + mMemory->size(), uint64_t{0}),
                0U);
        }
    }
    void expectResult() const
    {
        std::vector<float> const y = mY.read();
        for (size_t i = 0; i < y.size(); ++i)
            EXPECT_EQ(y[i], -mValues[i]);
    }

  private:
    std::vector<float> const mValues = randomFloats(6, 3);
    DeviceArray<float> const mX{mValues};
    DeviceArray<float> const mY{6};
    std::unique_ptr<IRuntime> mRuntime;
    std::unique_ptr<ICudaEngine> mEngine;
    std::unique_ptr<IExecutionContext> mContext;
    std::unique_ptr<IEngineInspector> mInspector;
    std::unique_ptr<IRuntimeConfig> mConfig;
    std::unique_ptr<ISerializationConfig> mSerialization;
    std::unique_ptr<IHostMemory> mMemory;
};

class Lifetimes : public ApiTest
{
  protected:
    void SetUp() override
    {
        ITensor* const x = network->addInput("x", DataType::kFLOAT, dims({2, 3}));
        network->markOutput(*network->addUnary(*x, UnaryOperation::kNEG)->getOutput(0));
        network->getOutput(0)->setName("y");
        plan.reset(builder->buildSerializedNetwork(*network, *config));
        ASSERT_NE(plan, nullptr) << logger.errors();
    }
    std::unique_ptr<IHostMemory> plan;
};
} // namespace

TEST_F(Lifetimes, A9_handlesEndInAnyOrderWithARunUnderWay)
{
    // Five of them in all orders, and the other two before, behind and among them in turn.
    std::array<size_t, Handles::kCount> order{};
    std::iota(order.begin(), order.end(), size_t{0});
    size_t turn{0};
    do
    {
        Handles handles{logger, *plan};
        ASSERT_TRUE(handles.startRun()) << logger.errors();
        std::array<size_t, Handles::kCount> turned = order;
        std::rotate(turned.begin(), turned.begin() + static_cast<std::ptrdiff_t>(turn++ % turned.size()), turned.end());
        for (size_t const which : turned)
            handles.drop(which);
        handles.expectResult();
    } while (std::next_permutation(order.begin(), order.begin() + 5));
    EXPECT_EQ(turn, 120U);
    EXPECT_EQ(logger.errors(), "");
}

TEST_F(Lifetimes, A9_whatIsLeftWorksWhenAnotherThreadHasDroppedTheRest)
{
    for (size_t first = 0; first < Handles::kCount; ++first)
    {
        Handles handles{logger, *plan};
        for (size_t i = 0; i < Handles::kCount; ++i)
        {
            ASSERT_TRUE(i > (2 + Handles::kCount - first) % Handles::kCount || handles.startRun()) << logger.errors();
            std::thread{[&] { handles.drop((first + i) % Handles::kCount); }}.join();
            handles.use();
        }
    }
    EXPECT_EQ(logger.errors(), "");
}

TEST_F(Lifetimes, A9_threadsDropEverythingAtOnce)
{
    for (int32_t round = 0; round < 20; ++round)
    {
        Handles handles{logger, *plan};
        ASSERT_TRUE(handles.startRun()) << logger.errors();
        std::vector<std::thread> threads;
        for (size_t which = 0; which < Handles::kCount; ++which)
            threads.emplace_back([&handles, which] { handles.drop(which); });
        for (std::thread& thread : threads)
            thread.join();
        handles.expectResult();
    }
    EXPECT_EQ(logger.errors(), "");
}

} // namespace apitest
