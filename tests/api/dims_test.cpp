// Dimensions that are none: every call that takes some refuses them before it reads an extent.
#include "fixture.h"

#include <functional>

namespace apitest
{

//! A call that takes dimensions, and what it must leave as it is: null for calls that make something.
struct TakesDims
{
    std::string name;
    std::function<bool(Dims const&)> isRefused;
    std::function<Dims()> kept;
};

class DimsOfCalls : public ApiTest
{
  protected:
    void SetUp() override
    {
        x = network->addInput("x", DataType::kFLOAT, dims({1, 4, 8, 8}));
        kernel = randomFloats(4 * 4 * 9, 1);
        addMakers();
        addSetters();
    }
    template <typename Make>
    void maker(std::string name, Make make)
    {
        calls.push_back({std::move(name), [make](Dims const& d) { return make(d) == nullptr; }, nullptr});
    }
    template <typename Layer>
    void setter(
        std::string name, Layer* layer, void (Layer::*set)(Dims const&) noexcept, Dims (Layer::*get)() const noexcept)
    {
        ASSERT_NE(layer, nullptr) << name;
        calls.push_back({std::move(name),
            [layer, set](Dims const& d) {
                (layer->*set)(d);
                return true;
            },
            [layer, get] { return (layer->*get)(); }});
    }
    void addMakers()
    {
        Dims const two = dims({3, 3});
        Dims const four = dims({1, 1, 1, 1});
        maker("addInput", [this](Dims const& d) { return network->addInput("other", DataType::kFLOAT, d); });
        maker("addConvolutionNd",
            [this](Dims const& d) { return network->addConvolutionNd(*x, 4, d, weights(kernel), Weights{}); });
        maker("addDeconvolutionNd",
            [this](Dims const& d) { return network->addDeconvolutionNd(*x, 4, d, weights(kernel), Weights{}); });
        maker("addPoolingNd", [this](Dims const& d) { return network->addPoolingNd(*x, PoolingType::kMAX, d); });
        maker("addConstant", [this](Dims const& d) { return network->addConstant(d, weights(kernel)); });
        maker("addSlice start", [=, this](Dims const& d) { return network->addSlice(*x, d, four, four); });
        maker("addSlice size", [=, this](Dims const& d) { return network->addSlice(*x, four, d, four); });
        maker("addSlice stride", [=, this](Dims const& d) { return network->addSlice(*x, four, four, d); });
        maker("addFill", [this](Dims const& d) { return network->addFill(d, FillOperation::kLINSPACE); });
        maker("addFill of a type",
            [this](Dims const& d) { return network->addFill(d, FillOperation::kLINSPACE, DataType::kINT32); });
        maker("addPaddingNd pre", [=, this](Dims const& d) { return network->addPaddingNd(*x, d, two); });
        maker("addPaddingNd post", [=, this](Dims const& d) { return network->addPaddingNd(*x, two, d); });
    }
    template <typename Layer>
    void windowSetters(std::string const& name, Layer* layer)
    {
        setter(name + "::setPrePadding", layer, &Layer::setPrePadding, &Layer::getPrePadding);
        setter(name + "::setPostPadding", layer, &Layer::setPostPadding, &Layer::getPostPadding);
        setter(name + "::setPaddingNd", layer, &Layer::setPaddingNd, &Layer::getPaddingNd);
        setter(name + "::setStrideNd", layer, &Layer::setStrideNd, &Layer::getStrideNd);
    }
    template <typename Layer>
    void kernelSetters(std::string const& name, Layer* layer)
    {
        windowSetters(name, layer);
        setter(name + "::setKernelSizeNd", layer, &Layer::setKernelSizeNd, &Layer::getKernelSizeNd);
        setter(name + "::setDilationNd", layer, &Layer::setDilationNd, &Layer::getDilationNd);
    }
    void addSetters()
    {
        Dims const two = dims({3, 3});
        Dims const four = dims({1, 1, 1, 1});
        kernelSetters("IConvolutionLayer", network->addConvolutionNd(*x, 4, two, weights(kernel), Weights{}));
        kernelSetters("IDeconvolutionLayer", network->addDeconvolutionNd(*x, 4, two, weights(kernel), Weights{}));
        IPoolingLayer* pooling = network->addPoolingNd(*x, PoolingType::kMAX, two);
        windowSetters("IPoolingLayer", pooling);
        setter("IPoolingLayer::setWindowSizeNd", pooling, &IPoolingLayer::setWindowSizeNd,
            &IPoolingLayer::getWindowSizeNd);
        IPaddingLayer* padding = network->addPaddingNd(*x, two, two);
        setter("IPaddingLayer::setPrePaddingNd", padding, &IPaddingLayer::setPrePaddingNd,
            &IPaddingLayer::getPrePaddingNd);
        setter("IPaddingLayer::setPostPaddingNd", padding, &IPaddingLayer::setPostPaddingNd,
            &IPaddingLayer::getPostPaddingNd);
        ISliceLayer* slice = network->addSlice(*x, dims({0, 0, 0, 0}), four, four);
        setter("ISliceLayer::setStart", slice, &ISliceLayer::setStart, &ISliceLayer::getStart);
        setter("ISliceLayer::setSize", slice, &ISliceLayer::setSize, &ISliceLayer::getSize);
        setter("ISliceLayer::setStride", slice, &ISliceLayer::setStride, &ISliceLayer::getStride);
        setter("ISliceLayer::setAxes", slice, &ISliceLayer::setAxes, &ISliceLayer::getAxes);
        IShuffleLayer* shuffle = network->addShuffle(*x);
        shuffle->setReshapeDimensions(dims({4, -1}));
        setter("IShuffleLayer::setReshapeDimensions", shuffle, &IShuffleLayer::setReshapeDimensions,
            &IShuffleLayer::getReshapeDimensions);
        IResizeLayer* resize = network->addResize(*x);
        resize->setOutputDimensions(dims({1, 4, 16, 16}));
        setter("IResizeLayer::setOutputDimensions", resize, &IResizeLayer::setOutputDimensions,
            &IResizeLayer::getOutputDimensions);
        setter("IFillLayer::setDimensions", network->addFill(two, FillOperation::kLINSPACE, DataType::kFLOAT),
            &IFillLayer::setDimensions, &IFillLayer::getDimensions);
        setter("IConstantLayer::setDimensions", network->addConstant(dims({4, 36}), weights(kernel)),
            &IConstantLayer::setDimensions, &IConstantLayer::getDimensions);
        setter("ITensor::setDimensions", x, &ITensor::setDimensions, &ITensor::getDimensions);
    }

    ITensor* x{nullptr};
    std::vector<float> kernel;
    std::vector<TakesDims> calls;
};

TEST_F(DimsOfCalls, A2_ranksThatAreNoneAreRefusedByEveryCall)
{
    ASSERT_GE(calls.size(), 30U);
    for (TakesDims const& each : calls)
        for (int32_t const rank : {9, 1000, 50000000, -7, INT32_MAX, INT32_MIN})
        {
            SCOPED_TRACE(each.name + " of rank " + std::to_string(rank));
            Dims wrong = dims({1, 1, 1, 1, 1, 1, 1, 1});
            wrong.nbDims = rank;
            std::vector<int64_t> const before = each.kept ? extents(each.kept()) : std::vector<int64_t>{};
            int32_t const reported = logger.count(ILogger::Severity::kERROR);
            EXPECT_TRUE(each.isRefused(wrong));
            EXPECT_EQ(logger.count(ILogger::Severity::kERROR), reported + 1) << logger.errors();
            EXPECT_NE(logger.errors().find(std::to_string(rank)), std::string::npos);
            if (each.kept)
            {
                EXPECT_EQ(extents(each.kept()), before);
            }
        }
}

TEST_F(DimsOfCalls, A1_invalidDimensionsStandOnlyWhereAnInputMayGiveThem)
{
    std::vector<std::string> taken;
    for (TakesDims const& each : calls)
    {
        int32_t const reported = logger.count(ILogger::Severity::kERROR);
        bool const isRefused = each.isRefused(Dims{-1, {}}) && logger.count(ILogger::Severity::kERROR) > reported;
        if (!isRefused)
            taken.push_back(each.name);
    }
    EXPECT_EQ(taken,
        (std::vector<std::string>{"addSlice start", "addSlice size", "addSlice stride", "ISliceLayer::setStart",
            "ISliceLayer::setSize", "ISliceLayer::setStride", "ISliceLayer::setAxes",
            "IShuffleLayer::setReshapeDimensions", "IResizeLayer::setOutputDimensions"}));
}

TEST_F(DimsOfCalls, A2_scalesOfAResizeAreAtMostEight)
{
    IResizeLayer* resize = network->addResize(*x);
    std::vector<float> const scales{1.0F, 1.0F, 2.0F, 2.0F};
    resize->setScales(scales.data(), 4);
    for (int32_t const count : {9, 50000000, -3})
        resize->setScales(scales.data(), count);
    resize->setScales(nullptr, 4);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "setScales"), 4);
    EXPECT_EQ(resize->getScales(0, nullptr), 4);
}

class DimsOfRuns : public ApiTest
{
};

TEST_F(DimsOfRuns, A2_ranksThatAreNoneAreRefusedByProfilesAndContexts)
{
    std::unique_ptr<ICudaEngine> const engine = dynamicEngine();
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    ASSERT_TRUE(context->setInputShape("x", dims({2, 3, 8, 10})));
    IOptimizationProfile* profile = builder->createOptimizationProfile();
    for (int32_t const rank : {9, 1000, 50000000, -7, -1})
    {
        Dims wrong = dims({2, 3, 8, 10, 1, 1, 1, 1});
        wrong.nbDims = rank;
        EXPECT_FALSE(profile->setDimensions("x", OptProfileSelector::kMIN, wrong)) << rank;
        EXPECT_FALSE(context->setInputShape("x", wrong)) << rank;
        EXPECT_FALSE(context->setBindingDimensions(0, wrong)) << rank;
    }
    EXPECT_EQ(extents(context->getTensorShape("x")), (std::vector<int64_t>{2, 3, 8, 10}));
    EXPECT_EQ(profile->getDimensions("x", OptProfileSelector::kMIN).nbDims, -1);
}

} // namespace apitest
