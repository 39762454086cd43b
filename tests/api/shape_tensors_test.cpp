// Rules D and Q11: which tensors are shape tensors, of which types, where they lie, and what is asked of them.
#include "fixture.h"

#include <functional>

namespace apitest
{

class ShapeTensors : public ApiTest
{
  protected:
    ITensor* input(char const* name, DataType type, std::vector<int64_t> const& shape)
    {
        return network->addInput(name, type, dims(shape));
    }
    ITensor* values(std::vector<int64_t> const& numbers)
    {
        auto const& kept = mNumbers.emplace_back(std::make_unique<std::vector<int64_t>>(numbers));
        return network
            ->addConstant(dims({static_cast<int64_t>(kept->size())}),
                Weights{DataType::kINT64, kept->data(), static_cast<int64_t>(kept->size())})
            ->getOutput(0);
    }
    //! Marks x reshaped to the values of `size` as output y.
    IShuffleLayer* reshape(ITensor& x, ITensor& size)
    {
        IShuffleLayer* shuffle = network->addShuffle(x);
        shuffle->setInput(1, size);
        shuffle->getOutput(0)->setName("y");
        network->markOutput(*shuffle->getOutput(0));
        return shuffle;
    }
    IOptimizationProfile* profile()
    {
        return builder->createOptimizationProfile();
    }
    static void setValues(IOptimizationProfile& profile, char const* name, std::vector<int64_t> const& min,
        std::vector<int64_t> const& opt, std::vector<int64_t> const& max)
    {
        auto const count = static_cast<int32_t>(min.size());
        EXPECT_TRUE(profile.setShapeValuesV2(name, OptProfileSelector::kMIN, min.data(), count));
        EXPECT_TRUE(profile.setShapeValuesV2(name, OptProfileSelector::kOPT, opt.data(), count));
        EXPECT_TRUE(profile.setShapeValuesV2(name, OptProfileSelector::kMAX, max.data(), count));
    }
    static void setExtents(IOptimizationProfile& profile, char const* name, int64_t min, int64_t opt, int64_t max)
    {
        EXPECT_TRUE(profile.setDimensions(name, OptProfileSelector::kMIN, dims({min})));
        EXPECT_TRUE(profile.setDimensions(name, OptProfileSelector::kOPT, dims({opt})));
        EXPECT_TRUE(profile.setDimensions(name, OptProfileSelector::kMAX, dims({max})));
    }

  private:
    std::vector<std::unique_ptr<std::vector<int64_t>>> mNumbers;
};

TEST_F(ShapeTensors, D1_aTensorIsAShapeTensorOnceShapesNeedItsValues)
{
    ITensor* t1 = input("t1", DataType::kINT64, {2});
    ITensor* t2 = input("t2", DataType::kINT64, {2});
    ITensor* t3 = network->addElementWise(*t1, *t2, ElementWiseOperation::kPROD)->getOutput(0);
    for (ITensor const* tensor : {t1, t2, t3})
    {
        EXPECT_FALSE(tensor->isShapeTensor());
        EXPECT_TRUE(tensor->isExecutionTensor());
    }
    ITensor* x = input("x", DataType::kFLOAT, {12});
    IShuffleLayer* shuffle = network->addShuffle(*x);
    shuffle->setInput(1, *t3);
    for (ITensor const* tensor : {t1, t2, t3})
    {
        EXPECT_TRUE(tensor->isShapeTensor());
        EXPECT_FALSE(tensor->isExecutionTensor());
    }
    EXPECT_FALSE(x->isShapeTensor());
    EXPECT_TRUE(x->isExecutionTensor());
    network->markOutput(*t3); // Its values are wanted as data, too.
    EXPECT_TRUE(t3->isShapeTensor());
    EXPECT_TRUE(t3->isExecutionTensor());
    network->unmarkOutput(*t3);
    network->markOutputForShapes(*network->addShape(*shuffle->getOutput(0))->getOutput(0));
    EXPECT_FALSE(shuffle->getOutput(0)->isShapeTensor()); // Its shape is wanted, not its values.
}

TEST_F(ShapeTensors, D1_whatIsUnmarkedForShapesIsNoOutputAndNoShapeTensor)
{
    ITensor* x = input("x", DataType::kFLOAT, {12});
    ITensor* y = network->addUnary(*x, UnaryOperation::kNEG)->getOutput(0);
    y->setName("y");
    network->markOutput(*y);
    ITensor* shape = network->addShape(*y)->getOutput(0);
    shape->setName("shape");
    EXPECT_FALSE(network->unmarkOutputForShapes(*shape));
    EXPECT_FALSE(network->unmarkOutputForShapes(*y)) << "it is an output of data";
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "is not marked for shapes"), 2) << logger.errors();
    for (bool const isMarked : {true, false, true})
    {
        EXPECT_TRUE(isMarked ? network->markOutputForShapes(*shape) : network->unmarkOutputForShapes(*shape));
        EXPECT_EQ(shape->isShapeTensor(), isMarked);
        EXPECT_EQ(shape->isNetworkOutput(), isMarked);
        ASSERT_EQ(network->getNbOutputs(), isMarked ? 2 : 1);
        EXPECT_EQ(network->getOutput(0), y);
        std::unique_ptr<ICudaEngine> const engine = buildEngine();
        ASSERT_NE(engine, nullptr);
        EXPECT_EQ(engine->getNbIOTensors(), isMarked ? 3 : 2);
        EXPECT_EQ(engine->isShapeInferenceIO("shape"), isMarked);
    }
    std::unique_ptr<INetworkDefinition> const other{builder->createNetworkV2(0)};
    EXPECT_FALSE(other->unmarkOutputForShapes(*shape)) << "a tensor of another network";
    EXPECT_TRUE(shape->isNetworkOutput());
    other->unmarkOutput(*y);
    EXPECT_TRUE(y->isNetworkOutput());
    EXPECT_EQ(network->getNbOutputs(), 2);
}

TEST_F(ShapeTensors, D3_shapeTensorsLieOnTheHost)
{
    ITensor* x = input("x", DataType::kFLOAT, {12});
    ITensor* size = input("size", DataType::kINT64, {2});
    EXPECT_EQ(size->getLocation(), TensorLocation::kDEVICE);
    reshape(*x, *size);
    EXPECT_EQ(size->getLocation(), TensorLocation::kHOST);
    EXPECT_EQ(x->getLocation(), TensorLocation::kDEVICE);
    IOptimizationProfile* bounds = profile();
    setValues(*bounds, "size", {1, 1}, {3, 4}, {12, 12});
    ASSERT_EQ(config->addOptimizationProfile(bounds), 0);
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    EXPECT_EQ(engine->getTensorLocation("size"), TensorLocation::kHOST);
    EXPECT_EQ(engine->getTensorLocation("x"), TensorLocation::kDEVICE);
    EXPECT_EQ(engine->getTensorLocation("y"), TensorLocation::kDEVICE);
}

//! The positions of elements are known after running only, also where a shape follows from them.
TEST_F(ShapeTensors, D4_aTensorWhoseElementsAreCountedIsReadAsData)
{
    ITensor* x = input("x", DataType::kFLOAT, {12});
    ITensor* mask = input("mask", DataType::kBOOL, {12});
    reshape(*x, *network->addNonZero(*mask, DataType::kINT64)->getOutput(0));
    EXPECT_FALSE(mask->isShapeTensor());
    EXPECT_TRUE(mask->isExecutionTensor());
}

//! The input whose extents alone are used: neither a shape tensor nor one that runs need.
TEST_F(ShapeTensors, D4_aTensorWhoseExtentsAloneAreNeededTakesANullAddress)
{
    ITensor* x = input("x", DataType::kFLOAT, {-1});
    ITensor* form = input("form", DataType::kFLOAT, {-1, -1});
    EXPECT_TRUE(form->isExecutionTensor()) << "nothing reads it yet";
    reshape(*x, *network->addShape(*form)->getOutput(0));
    EXPECT_FALSE(form->isShapeTensor());
    EXPECT_FALSE(form->isExecutionTensor());
    EXPECT_TRUE(x->isExecutionTensor());
    IOptimizationProfile* bounds = profile();
    setExtents(*bounds, "x", 1, 12, 24);
    EXPECT_TRUE(bounds->setDimensions("form", OptProfileSelector::kMIN, dims({1, 1})));
    EXPECT_TRUE(bounds->setDimensions("form", OptProfileSelector::kOPT, dims({3, 4})));
    EXPECT_TRUE(bounds->setDimensions("form", OptProfileSelector::kMAX, dims({24, 24})));
    ASSERT_EQ(config->addOptimizationProfile(bounds), 0);
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    ASSERT_EQ(engine->getNbIOTensors(), 3);
    EXPECT_STREQ(engine->getIOTensorName(1), "form");
    EXPECT_FALSE(engine->isShapeInferenceIO("form"));
    EXPECT_FALSE(engine->isExecutionBinding(1));
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    std::vector<float> const numbers = randomFloats(12, 4);
    DeviceArray<float> const from{numbers};
    DeviceArray<float> const to{12};
    ASSERT_TRUE(context->setInputShape("x", dims({12})));
    char const* name{nullptr};
    EXPECT_EQ(context->inferShapes(1, &name), 1); // Its extents are needed.
    EXPECT_STREQ(name, "form");
    ASSERT_TRUE(context->setInputShape("form", dims({2, 6})));
    EXPECT_EQ(context->inferShapes(1, &name), 0);
    EXPECT_TRUE(context->setInputTensorAddress("x", from.data()));
    EXPECT_TRUE(context->setInputTensorAddress("form", nullptr));
    EXPECT_TRUE(context->setOutputTensorAddress("y", to.data()));
    ASSERT_TRUE(context->enqueueV3(stream())) << logger.errors();
    EXPECT_EQ(extents(context->getTensorShape("y")), (std::vector<int64_t>{2, 6}));
    EXPECT_EQ(to.read(), numbers);
}

//! Layers whose inputs become shape tensors when their output is one.
TEST_F(ShapeTensors, D5_polymorphicLayersPassOnThatTheyAreShapeTensors)
{
    using Make = std::function<ITensor*(ITensor&, ITensor&)>;
    ITensor* one = values({1, 1});
    ITensor* two = values({2});
    ITensor* start = values({0});
    ITensor* places = values({1, 0});
    std::vector<std::pair<char const*, Make>> const makers{
        {"elementwise",
            [&](ITensor& a, ITensor& b) {
                return network->addElementWise(a, b, ElementWiseOperation::kSUM)->getOutput(0);
            }},
        {"unary", [&](ITensor& a, ITensor&) { return network->addUnary(a, UnaryOperation::kABS)->getOutput(0); }},
        {"select",
            [&](ITensor& a, ITensor& b) {
                ITensor* more = network->addElementWise(a, *one, ElementWiseOperation::kGREATER)->getOutput(0);
                return network->addSelect(*more, a, b)->getOutput(0);
            }},
        {"slice",
            [&](ITensor& a, ITensor&) {
                ISliceLayer* slice = network->addSlice(a, dims({0}), dims({2}), dims({1}));
                slice->setInput(1, *start);
                slice->setInput(2, *two);
                return slice->getOutput(0);
            }},
        {"gather", [&](ITensor& a, ITensor&) { return network->addGather(a, *places, 0)->getOutput(0); }},
    };
    for (auto const& [what, make] : makers)
    {
        std::string const suffix{what};
        ITensor* a = input(("a " + suffix).c_str(), DataType::kINT64, {2});
        ITensor* b = input(("b " + suffix).c_str(), DataType::kINT64, {2});
        ITensor* x = input(("x " + suffix).c_str(), DataType::kFLOAT, {12});
        ITensor* made = make(*a, *b);
        EXPECT_FALSE(a->isShapeTensor()) << what;
        network->addShuffle(*x)->setInput(1, *made);
        EXPECT_TRUE(made->isShapeTensor()) << what;
        EXPECT_TRUE(a->isShapeTensor()) << what;
        EXPECT_FALSE(a->isExecutionTensor()) << what;
        EXPECT_EQ(b->isShapeTensor(), suffix == "elementwise" || suffix == "select") << what;
    }
    ITensor* count = input("count", DataType::kINT64, {1});
    ITensor* offset = input("offset", DataType::kINT64, {});
    IFillLayer* fill = network->addFill(dims({2}), FillOperation::kLINSPACE, DataType::kINT64);
    fill->setInput(0, *values({2}));
    fill->setInput(1, *offset);
    fill->setInput(2, *count);
    EXPECT_FALSE(offset->isShapeTensor());
    network->addShuffle(*input("x fill", DataType::kFLOAT, {12}))->setInput(1, *fill->getOutput(0));
    EXPECT_TRUE(offset->isShapeTensor());
    EXPECT_TRUE(count->isShapeTensor());
}

TEST_F(ShapeTensors, D6_shapesHave64Bits)
{
    ITensor* x = input("x", DataType::kFLOAT, {3, 4});
    EXPECT_EQ(network->addShape(*x)->getOutput(0)->getType(), DataType::kINT64);
}

TEST_F(ShapeTensors, D7_averagesOfShapeTensorsAreRejected)
{
    ITensor* x = input("x", DataType::kFLOAT, {12});
    ITensor* size = input("size", DataType::kINT64, {2});
    IReduceLayer* mean = network->addReduce(*size, ReduceOperation::kAVG, 1U, true);
    if (mean != nullptr)
    {
        mean->setName("mean");
        reshape(*x, *mean->getOutput(0));
        IOptimizationProfile* bounds = profile();
        setValues(*bounds, "size", {1, 1}, {12, 12}, {12, 12});
        ASSERT_EQ(config->addOptimizationProfile(bounds), 0);
        EXPECT_EQ(builder->buildSerializedNetwork(*network, *config), nullptr);
    }
    EXPECT_GE(logger.count(ILogger::Severity::kERROR), 1);
    EXPECT_NE(logger.errors().find("kAVG"), std::string::npos) << logger.errors();
}

TEST_F(ShapeTensors, D8_valuesForAnInputThatIsNoShapeTensorOnlyWarn)
{
    ITensor* x = input("x", DataType::kFLOAT, {-1});
    ITensor* y = network->addUnary(*x, UnaryOperation::kNEG)->getOutput(0);
    y->setName("y");
    network->markOutput(*y);
    IOptimizationProfile* bounds = profile();
    setExtents(*bounds, "x", 1, 3, 6);
    setValues(*bounds, "x", {1}, {2}, {3});
    EXPECT_TRUE(bounds->isValid());
    ASSERT_EQ(config->addOptimizationProfile(bounds), 0);
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr) << logger.errors();
    EXPECT_EQ(logger.count(ILogger::Severity::kWARNING, "'x'"), 1);
    EXPECT_FALSE(engine->isShapeInferenceIO("x"));
    EXPECT_EQ(engine->getProfileTensorValuesV2("x", 0, OptProfileSelector::kOPT), nullptr);
}

//! y = x or its first five elements, as the shape tensor `whole` of one bool says.
TEST_F(ShapeTensors, D2_shapeTensorsMayBeBool)
{
    ITensor* x = input("x", DataType::kFLOAT, {12});
    ITensor* whole = input("whole", DataType::kBOOL, {1});
    ITensor* size = network->addSelect(*whole, *values({12}), *values({5}))->getOutput(0);
    ISliceLayer* slice = network->addSlice(*x, dims({0}), dims({12}), dims({1}));
    slice->setInput(2, *size);
    slice->getOutput(0)->setName("y");
    network->markOutput(*slice->getOutput(0));
    EXPECT_TRUE(whole->isShapeTensor());
    IOptimizationProfile* bounds = profile();
    setValues(*bounds, "whole", {0}, {1}, {1});
    ASSERT_EQ(config->addOptimizationProfile(bounds), 0);
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr) << logger.errors();
    EXPECT_TRUE(engine->isShapeInferenceIO("whole"));
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    std::vector<float> const numbers = randomFloats(12, 9);
    DeviceArray<float> const from{numbers};
    DeviceArray<float> to{12};
    bool isWhole{true};
    context->setInputTensorAddress("x", from.data());
    context->setInputTensorAddress("whole", &isWhole);
    context->setOutputTensorAddress("y", to.data());
    for (size_t const count : {12, 5, 12})
    {
        isWhole = count == 12;
        to.write(std::vector<float>(12, -5.0F));
        ASSERT_TRUE(context->enqueueV3(stream())) << logger.errors();
        EXPECT_EQ(extents(context->getTensorShape("y")), (std::vector<int64_t>{static_cast<int64_t>(count)}));
        EXPECT_TRUE(std::equal(numbers.begin(), numbers.begin() + static_cast<int64_t>(count), to.read().begin()));
        EXPECT_EQ(to.read()[11], count == 12 ? numbers[11] : -5.0F);
    }
}

//! y = the first elements of x, as many as the product of a matrix of its extents with a shape tensor of two floats
//! says.
TEST_F(ShapeTensors, D2_D5_shapeTensorsMayBeFloatsAndGoThroughMatrixProducts)
{
    ITensor* x = input("x", DataType::kFLOAT, {-1});
    ITensor* factors = input("factors", DataType::kFLOAT, {2});
    ITensor* extent = network->addCast(*network->addShape(*x)->getOutput(0), DataType::kFLOAT)->getOutput(0);
    std::vector<ITensor*> const pair(2, extent);
    ITensor* both = network->addConcatenation(pair.data(), 2)->getOutput(0);
    IShuffleLayer* row = network->addShuffle(*both);
    row->setReshapeDimensions(dims({1, 2}));
    ITensor* product =
        network->addMatrixMultiply(*row->getOutput(0), MatrixOperation::kNONE, *factors, MatrixOperation::kVECTOR)
            ->getOutput(0);
    ITensor* size = network->addCast(*product, DataType::kINT64)->getOutput(0);
    ISliceLayer* slice = network->addSlice(*x, dims({0}), dims({1}), dims({1}));
    slice->setInput(2, *size);
    slice->getOutput(0)->setName("y");
    network->markOutput(*slice->getOutput(0));
    EXPECT_TRUE(factors->isShapeTensor());
    EXPECT_TRUE(product->isShapeTensor());
    EXPECT_FALSE(factors->isExecutionTensor());
    IOptimizationProfile* bounds = profile();
    setExtents(*bounds, "x", 4, 8, 12);
    setValues(*bounds, "factors", {0, 0}, {1, 0}, {1, 1});
    ASSERT_EQ(config->addOptimizationProfile(bounds), 0);
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr) << logger.errors();
    EXPECT_TRUE(engine->isShapeInferenceIO("factors"));
    EXPECT_EQ(engine->getTensorLocation("factors"), TensorLocation::kHOST);
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    std::vector<float> const numbers = randomFloats(12, 9);
    DeviceArray<float> const from{numbers};
    DeviceArray<float> to{12};
    float given[2]{};
    context->setInputTensorAddress("x", from.data());
    context->setInputTensorAddress("factors", given);
    context->setOutputTensorAddress("y", to.data());
    for (auto const& [n, first, second, expected] :
        {std::tuple{12, 0.25F, 0.5F, 9}, std::tuple{8, 0.25F, 0.25F, 4}, std::tuple{12, 0.5F, 0.25F, 9}})
    {
        given[0] = first;
        given[1] = second;
        ASSERT_TRUE(context->setInputShape("x", dims({n})));
        to.write(std::vector<float>(12, -5.0F));
        ASSERT_TRUE(context->enqueueV3(stream())) << logger.errors();
        EXPECT_EQ(extents(context->getTensorShape("y")), (std::vector<int64_t>{expected}));
        EXPECT_TRUE(std::equal(numbers.begin(), numbers.begin() + expected, to.read().begin()));
        EXPECT_EQ(to.read()[static_cast<size_t>(expected)], -5.0F);
    }
}

TEST_F(ShapeTensors, D2_shapeInferenceWritesFloats)
{
    ITensor* x = input("x", DataType::kFLOAT, {-1, 3});
    ITensor* factor = input("factor", DataType::kFLOAT, {2});
    ITensor* extent = network->addCast(*network->addShape(*x)->getOutput(0), DataType::kFLOAT)->getOutput(0);
    ITensor* scaled = network->addElementWise(*extent, *factor, ElementWiseOperation::kPROD)->getOutput(0);
    scaled->setName("scaled");
    network->markOutputForShapes(*scaled);
    network->addIdentity(*x)->getOutput(0)->setName("y");
    network->markOutput(*network->getLayer(network->getNbLayers() - 1)->getOutput(0));
    IOptimizationProfile* bounds = profile();
    EXPECT_TRUE(bounds->setDimensions("x", OptProfileSelector::kMIN, dims({1, 3})));
    EXPECT_TRUE(bounds->setDimensions("x", OptProfileSelector::kOPT, dims({4, 3})));
    EXPECT_TRUE(bounds->setDimensions("x", OptProfileSelector::kMAX, dims({9, 3})));
    setValues(*bounds, "factor", {-1, 0}, {1, 1}, {2, 2});
    ASSERT_EQ(config->addOptimizationProfile(bounds), 0);
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr) << logger.errors();
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    float given[2]{-0.3F, 1.7F};
    float found[2]{};
    context->setInputTensorAddress("factor", given);
    context->setOutputTensorAddress("scaled", found);
    ASSERT_TRUE(context->setInputShape("x", dims({7, 3})));
    EXPECT_EQ(context->inferShapes(0, nullptr), 0) << logger.errors();
    EXPECT_EQ(found[0], 7.0F * -0.3F);
    EXPECT_EQ(found[1], 3.0F * 1.7F);
    given[1] = 2.125F; // Beyond the profile.
    EXPECT_NE(context->inferShapes(0, nullptr), 0);
    EXPECT_NE(logger.errors().find("'factor' is 2.125, outside [0, 2]"), std::string::npos) << logger.errors();
}

//! An extent of 8 / factor, which is no number where the factor is.
TEST_F(ShapeTensors, D2_noExtentIsMadeOfWhatIsNoNumber)
{
    ITensor* x = input("x", DataType::kFLOAT, {8});
    ITensor* factor = input("factor", DataType::kFLOAT, {1});
    ITensor* extent = network->addCast(*network->addShape(*x)->getOutput(0), DataType::kFLOAT)->getOutput(0);
    ITensor* quotient = network->addElementWise(*extent, *factor, ElementWiseOperation::kDIV)->getOutput(0);
    ISliceLayer* slice = network->addSlice(*x, dims({0}), dims({1}), dims({1}));
    slice->setName("cut");
    slice->setInput(2, *network->addCast(*quotient, DataType::kINT64)->getOutput(0));
    slice->getOutput(0)->setName("y");
    network->markOutput(*slice->getOutput(0));
    IOptimizationProfile* bounds = profile();
    setValues(*bounds, "factor", {0}, {2}, {8});
    ASSERT_EQ(config->addOptimizationProfile(bounds), 0);
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr) << logger.errors();
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    std::vector<float> const numbers = randomFloats(8, 3);
    DeviceArray<float> const from{numbers};
    DeviceArray<float> to{8};
    float given{2.5F};
    context->setInputTensorAddress("x", from.data());
    context->setInputTensorAddress("factor", &given);
    context->setOutputTensorAddress("y", to.data());
    ASSERT_TRUE(context->enqueueV3(stream())) << logger.errors();
    EXPECT_EQ(extents(context->getTensorShape("y")), (std::vector<int64_t>{3}));
    given = 0.0F;
    EXPECT_FALSE(context->enqueueV3(stream()));
    EXPECT_NE(logger.errors().find("y"), std::string::npos) << logger.errors();
    given = std::nanf("");
    EXPECT_FALSE(context->enqueueV3(stream())) << "outside of the profile";
}

TEST_F(ShapeTensors, D2_noMoreThan64Values)
{
    IOptimizationProfile* bounds = profile();
    std::vector<int64_t> const many(65, 1);
    std::vector<int32_t> const narrow(65, 1);
    EXPECT_TRUE(bounds->setShapeValuesV2("s", OptProfileSelector::kMIN, many.data(), 64));
    EXPECT_FALSE(bounds->setShapeValuesV2("s", OptProfileSelector::kMIN, many.data(), 65));
    EXPECT_FALSE(bounds->setShapeValues("s", OptProfileSelector::kMIN, narrow.data(), 65));
}

//! Outputs of shape inference of several kinds.
TEST_F(ShapeTensors, Q11_P7_inferShapesWritesEveryOutputOfShapeInferenceThatHasAnAddress)
{
    ITensor* x = input("x", DataType::kFLOAT, {-1});
    ITensor* size = input("size", DataType::kINT64, {2});
    IShuffleLayer* shuffle = reshape(*x, *size);
    ITensor* shape = network->addShape(*shuffle->getOutput(0))->getOutput(0);
    ITensor* sum = network->addElementWise(*shape, *values({10, 20}), ElementWiseOperation::kSUM)->getOutput(0);
    ITensor* joined{nullptr};
    ITensor* parts[]{shape, sum};
    joined = network->addConcatenation(parts, 2)->getOutput(0);
    ITensor* narrow = network->addCast(*sum, DataType::kINT32)->getOutput(0);
    ITensor* more = network->addElementWise(*shape, *values({3, 3}), ElementWiseOperation::kGREATER)->getOutput(0);
    ITensor* copy = network->addIdentity(*size)->getOutput(0);
    ITensor* bytes = network->addCast(*shape, DataType::kINT8)->getOutput(0);
    std::vector<std::pair<char const*, ITensor*>> const outputs{{"shape", shape}, {"sum", sum}, {"joined", joined},
        {"narrow", narrow}, {"more", more}, {"copy", copy}, {"fixed", values({7, 8})}, {"bytes", bytes}};
    for (auto const& [name, tensor] : outputs)
    {
        tensor->setName(name);
        EXPECT_TRUE(network->markOutputForShapes(*tensor)) << name;
        EXPECT_TRUE(tensor->isShapeTensor()) << name;
        EXPECT_EQ(tensor->getLocation(), TensorLocation::kHOST) << name;
    }
    IOptimizationProfile* bounds = profile();
    setExtents(*bounds, "x", 1, 12, 24);
    setValues(*bounds, "size", {1, 1}, {3, 4}, {24, 24});
    ASSERT_EQ(config->addOptimizationProfile(bounds), 0);
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr) << logger.errors();
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    for (auto const& [name, tensor] : outputs)
    {
        EXPECT_TRUE(engine->isShapeInferenceIO(name)) << name;
        EXPECT_EQ(engine->getTensorLocation(name), TensorLocation::kHOST) << name;
    }
    int64_t given[2]{3, 4};
    int64_t wide[5][4]{};
    int32_t thin[2]{-1, -1};
    bool flags[2]{true, false};
    int8_t small[2]{-1, -1};
    char const* const wideNames[]{"shape", "sum", "joined", "copy", "fixed"};
    for (size_t i = 0; i < 5; ++i)
        ASSERT_TRUE(context->setOutputTensorAddress(wideNames[i], wide[i]));
    context->setOutputTensorAddress("narrow", thin);
    context->setOutputTensorAddress("more", flags);
    context->setOutputTensorAddress("bytes", small);
    EXPECT_EQ(context->inferShapes(0, nullptr), 2);
    EXPECT_EQ(wide[0][0], 0); // Nothing is written while inputs lack.
    ASSERT_TRUE(context->setInputShape("x", dims({12})));
    ASSERT_TRUE(context->setInputTensorAddress("size", given));
    ASSERT_EQ(context->inferShapes(0, nullptr), 0) << logger.errors();
    auto const two = [](auto const* from) { return std::vector<int64_t>(from, from + 2); };
    EXPECT_EQ(two(wide[0]), (std::vector<int64_t>{3, 4}));
    EXPECT_EQ(two(wide[1]), (std::vector<int64_t>{13, 24}));
    EXPECT_EQ(std::vector<int64_t>(wide[2], wide[2] + 4), (std::vector<int64_t>{3, 4, 13, 24}));
    EXPECT_EQ(two(wide[3]), (std::vector<int64_t>{3, 4}));
    EXPECT_EQ(two(wide[4]), (std::vector<int64_t>{7, 8}));
    EXPECT_EQ(two(thin), (std::vector<int64_t>{13, 24}));
    EXPECT_EQ(std::pair(flags[0], flags[1]), std::pair(false, true));
    EXPECT_EQ(two(small), (std::vector<int64_t>{3, 4}));
    given[0] = 2;
    given[1] = 6;
    context->setOutputTensorAddress("sum", nullptr); // And what has none is left alone.
    ASSERT_EQ(context->inferShapes(0, nullptr), 0) << logger.errors();
    EXPECT_EQ(two(wide[0]), (std::vector<int64_t>{2, 6}));
    EXPECT_EQ(two(wide[1]), (std::vector<int64_t>{13, 24}));
}

TEST_F(ShapeTensors, Q11_valuesThatOnlyRunningTellsAreLeftAlone)
{
    ITensor* found = network->addNonZero(*input("x", DataType::kFLOAT, {-1}))->getOutput(0);
    found->setName("found");
    network->markOutput(*found);
    ITensor* shape = network->addShape(*found)->getOutput(0);
    shape->setName("shape");
    ASSERT_TRUE(network->markOutputForShapes(*shape));
    addProfile({1}, {6}, {1000});
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr) << logger.errors();
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    DeviceArray<float> const x{std::vector<float>{0.0F, 2.5F, 0.0F, -1.5F, 0.0F, 0.0F}};
    DeviceArray<int32_t> const positions{6};
    int64_t told[2]{-7, -7};
    context->setInputTensorAddress("x", x.data());
    context->setOutputTensorAddress("found", positions.data());
    context->setOutputTensorAddress("shape", told);
    ASSERT_TRUE(context->setInputShape("x", dims({6})));
    EXPECT_EQ(context->inferShapes(0, nullptr), 0) << logger.errors();
    EXPECT_EQ(std::vector<int64_t>(told, told + 2), (std::vector<int64_t>{-7, -7}));
    ASSERT_TRUE(context->enqueueV3(stream())) << logger.errors();
    EXPECT_EQ(positions.read(2), (std::vector<int32_t>{1, 3}));
    EXPECT_EQ(std::vector<int64_t>(told, told + 2), (std::vector<int64_t>{1, 2}));
}

TEST_F(ShapeTensors, Q11_P7_outputsThatAreDataAreNoOutputsOfShapeInference)
{
    ITensor* x = input("x", DataType::kFLOAT, {-1, 3});
    ITensor* shape = network->addShape(*x)->getOutput(0);
    shape->setName("shape");
    network->markOutput(*shape);
    IOptimizationProfile* bounds = profile();
    for (auto const select : {OptProfileSelector::kMIN, OptProfileSelector::kOPT, OptProfileSelector::kMAX})
        bounds->setDimensions("x", select, dims({1 + static_cast<int64_t>(select), 3}));
    ASSERT_EQ(config->addOptimizationProfile(bounds), 0);
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr) << logger.errors();
    EXPECT_FALSE(engine->isShapeInferenceIO("shape"));
    EXPECT_EQ(engine->getTensorLocation("shape"), TensorLocation::kDEVICE);
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    DeviceArray<int64_t> const to{2};
    context->setOutputTensorAddress("shape", to.data());
    ASSERT_TRUE(context->setInputShape("x", dims({2, 3})));
    std::vector<int64_t> const before = to.read();
    ASSERT_EQ(context->inferShapes(0, nullptr), 0);
    EXPECT_EQ(to.read(), before);
    ASSERT_TRUE(context->enqueueV3(stream())) << logger.errors();
    EXPECT_EQ(to.read(), (std::vector<int64_t>{2, 3}));
}

} // namespace apitest
