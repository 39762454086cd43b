// What the API tests share: a logger and a recorder that keep what they are told, and small networks.
#pragma once

#include "NvInfer.h"
#include "support/device.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace apitest
{

using namespace nvinfer1;
using tenon::test::DeviceArray;
using tenon::test::randomFloats;

//! The stream that tests enqueue on.
inline cudaStream_t stream()
{
    return static_cast<cudaStream_t>(tenon::test::deviceUnderTest().stream());
}

//! Whether a run succeeds, also the part of it that goes on when the call has returned.
inline bool runToEnd(IExecutionContext& context)
{
    bool const isTaken = context.enqueueV3(stream());
    return tenon::test::deviceUnderTest().synchronize() && isTaken;
}

class KeepingLogger final : public ILogger
{
  public:
    void log(Severity severity, AsciiChar const* message) noexcept override
    {
        std::scoped_lock const lock{mutex};
        messages.emplace_back(severity, message);
    }
    //! Messages of this severity whose text holds `part`.
    int32_t count(Severity severity, std::string const& part = "")
    {
        std::scoped_lock const lock{mutex};
        int32_t found{0};
        for (auto const& [level, text] : messages)
            found += level == severity && text.find(part) != std::string::npos ? 1 : 0;
        return found;
    }
    std::string errors()
    {
        std::scoped_lock const lock{mutex};
        std::string all;
        for (auto const& [level, text] : messages)
            if (level <= Severity::kERROR)
                all += text + "\n";
        return all;
    }

    std::mutex mutex;
    std::vector<std::pair<Severity, std::string>> messages;
};

//! Keeps copies of the first `capacity` reports and says when there were more. Any thread may call it.
class KeepingRecorder final : public IErrorRecorder
{
  public:
    explicit KeepingRecorder(size_t capacity = SIZE_MAX)
        : mCapacity{capacity}
    {
    }
    int32_t getNbErrors() const noexcept override
    {
        std::scoped_lock const lock{mMutex};
        return static_cast<int32_t>(mErrors.size());
    }
    ErrorCode getErrorCode(int32_t index) const noexcept override
    {
        std::scoped_lock const lock{mMutex};
        return isKept(index) ? mErrors[static_cast<size_t>(index)].first : ErrorCode::kUNSPECIFIED_ERROR;
    }
    ErrorDesc getErrorDesc(int32_t index) const noexcept override
    {
        std::scoped_lock const lock{mMutex};
        return isKept(index) ? mErrors[static_cast<size_t>(index)].second.c_str() : "";
    }
    bool hasOverflowed() const noexcept override
    {
        std::scoped_lock const lock{mMutex};
        return mOverflowed;
    }
    void clear() noexcept override
    {
        std::scoped_lock const lock{mMutex};
        mErrors.clear();
        mOverflowed = false;
    }
    bool reportError(ErrorCode code, ErrorDesc description) noexcept override
    {
        std::scoped_lock const lock{mMutex};
        if (mErrors.size() < mCapacity)
            mErrors.emplace_back(code, description);
        else
            mOverflowed = true;
        return !mOverflowed;
    }
    RefCount incRefCount() noexcept override
    {
        ++increments;
        return ++references;
    }
    RefCount decRefCount() noexcept override
    {
        return --references;
    }
    //! The code of the latest report.
    ErrorCode last() const
    {
        return getErrorCode(getNbErrors() - 1);
    }

    std::atomic<int32_t> references{0};
    std::atomic<int32_t> increments{0};

  private:
    bool isKept(int32_t index) const
    {
        return index >= 0 && static_cast<size_t>(index) < mErrors.size();
    }

    size_t mCapacity;
    mutable std::mutex mMutex;
    std::vector<std::pair<ErrorCode, std::string>> mErrors;
    bool mOverflowed{false};
};

inline Dims dims(std::vector<int64_t> const& extents)
{
    Dims made{static_cast<int32_t>(extents.size()), {}};
    std::copy(extents.begin(), extents.end(), made.d);
    return made;
}

inline std::vector<int64_t> extents(Dims const& given)
{
    return given.nbDims < 0 ? std::vector<int64_t>{-99} : std::vector<int64_t>{given.d, given.d + given.nbDims};
}

inline Weights weights(std::vector<float> const& values)
{
    return {DataType::kFLOAT, values.data(), static_cast<int64_t>(values.size())};
}

//! y = relu(conv(x)): x [batch, 3, h, w], four 3×3 maps, padding 1. Batch, height and width as the test wants.
struct ConvRelu
{
    std::vector<float> kernel = randomFloats(4 * 3 * 3 * 3, 7);
    std::vector<float> bias = randomFloats(4, 8);

    void add(INetworkDefinition& network, Dims const& shape) const
    {
        ITensor* x = network.addInput("x", DataType::kFLOAT, shape);
        ASSERT_NE(x, nullptr);
        IConvolutionLayer* conv = network.addConvolutionNd(*x, 4, dims({3, 3}), weights(kernel), weights(bias));
        ASSERT_NE(conv, nullptr);
        conv->setPaddingNd(dims({1, 1}));
        conv->setName("conv");
        IActivationLayer* relu = network.addActivation(*conv->getOutput(0), ActivationType::kRELU);
        ASSERT_NE(relu, nullptr);
        relu->getOutput(0)->setName("y");
        network.markOutput(*relu->getOutput(0));
    }

    std::vector<float> expected(std::vector<float> const& x, int64_t n, int64_t h, int64_t w) const
    {
        std::vector<float> y(static_cast<size_t>(n * 4 * h * w));
        for (int64_t b = 0; b < n; ++b)
            for (int64_t m = 0; m < 4; ++m)
                for (int64_t i = 0; i < h; ++i)
                    for (int64_t j = 0; j < w; ++j)
                        y[static_cast<size_t>(((b * 4 + m) * h + i) * w + j)] = at(x, b, m, i, j, h, w);
        return y;
    }

  private:
    float at(std::vector<float> const& x, int64_t b, int64_t m, int64_t i, int64_t j, int64_t h, int64_t w) const
    {
        double sum = bias[static_cast<size_t>(m)];
        for (int64_t c = 0; c < 3; ++c)
            for (int64_t u = 0; u < 3; ++u)
                for (int64_t v = 0; v < 3; ++v)
                {
                    int64_t const row = i + u - 1;
                    int64_t const column = j + v - 1;
                    if (row >= 0 && row < h && column >= 0 && column < w)
                        sum += static_cast<double>(kernel[static_cast<size_t>(((m * 3 + c) * 3 + u) * 3 + v)])
                            * static_cast<double>(x[static_cast<size_t>(((b * 3 + c) * h + row) * w + column)]);
                }
        return static_cast<float>(sum > 0.0 ? sum : 0.0);
    }
};

inline void expectNear(std::vector<float> const& got, std::vector<float> const& want)
{
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i)
        ASSERT_NEAR(got[i], want[i], 1e-5F + 1e-4F * std::abs(want[i])) << "element " << i;
}

//! A builder with what is made from it.
class ApiTest : public ::testing::Test
{
  protected:
    KeepingLogger logger;
    std::unique_ptr<IBuilder> builder{createInferBuilder(logger)};
    std::unique_ptr<INetworkDefinition> network{builder->createNetworkV2(0)};
    std::unique_ptr<IBuilderConfig> config{builder->createBuilderConfig()};
    std::unique_ptr<IRuntime> runtime{createInferRuntime(logger)};
    ConvRelu convRelu;

    //! One profile for input x.
    void addProfile(std::vector<int64_t> const& min, std::vector<int64_t> const& opt, std::vector<int64_t> const& max)
    {
        IOptimizationProfile* profile = builder->createOptimizationProfile();
        ASSERT_TRUE(profile->setDimensions("x", OptProfileSelector::kMIN, dims(min)));
        ASSERT_TRUE(profile->setDimensions("x", OptProfileSelector::kOPT, dims(opt)));
        ASSERT_TRUE(profile->setDimensions("x", OptProfileSelector::kMAX, dims(max)));
        ASSERT_GE(config->addOptimizationProfile(profile), 0);
    }
    std::unique_ptr<ICudaEngine> buildEngine()
    {
        std::unique_ptr<IHostMemory> plan{builder->buildSerializedNetwork(*network, *config)};
        EXPECT_NE(plan, nullptr) << logger.errors();
        if (plan == nullptr)
            return nullptr;
        std::unique_ptr<ICudaEngine> engine{runtime->deserializeCudaEngine(plan->data(), plan->size())};
        EXPECT_NE(engine, nullptr) << logger.errors();
        return engine;
    }
    //! The engine of ConvRelu with x [1…4, 3, 8…16, 10].
    std::unique_ptr<ICudaEngine> dynamicEngine()
    {
        convRelu.add(*network, dims({-1, 3, -1, 10}));
        addProfile({1, 3, 8, 10}, {2, 3, 12, 10}, {4, 3, 16, 10});
        return buildEngine();
    }
    //! Runs ConvRelu and compares.
    void runAndCompare(IExecutionContext& context, int64_t n, int64_t h, uint32_t seed)
    {
        std::vector<float> const values = randomFloats(static_cast<size_t>(n * 3 * h * 10), seed);
        DeviceArray<float> const x{values};
        DeviceArray<float> const y{static_cast<size_t>(n * 4 * h * 10)};
        ASSERT_TRUE(context.setInputShape("x", dims({n, 3, h, 10}))) << logger.errors();
        ASSERT_TRUE(context.setTensorAddress("x", x.data()));
        ASSERT_TRUE(context.setTensorAddress("y", y.data()));
        ASSERT_TRUE(context.enqueueV3(stream())) << logger.errors();
        expectNear(y.read(), convRelu.expected(values, n, h, 10));
    }
};

} // namespace apitest
