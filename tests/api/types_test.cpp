// Types of inputs, outputs and layers of weakly typed networks (rules C16, C17): the casts that a build puts in.
#include "fixture.h"

#include <cmath>
#include <cstring>

namespace apitest
{

namespace
{
using Half = _Float16;

std::vector<Half> halves(std::vector<float> const& values)
{
    std::vector<Half> all; // Not from iterators: GCC 13 wants a conversion that says that it narrows.
    for (float const value : values)
        all.push_back(static_cast<Half>(value));
    return all;
}
template <typename T>
std::vector<float> floats(std::vector<T> const& values)
{
    std::vector<float> all;
    for (T const value : values)
        all.push_back(static_cast<float>(value));
    return all;
}

class Types : public ApiTest
{
  protected:
    static constexpr int64_t kPixels{8 * 10};
    std::vector<float> const values = randomFloats(3 * kPixels, 3);

    //! Runs the engine of ConvRelu on elements of In and gives those of Out.
    template <typename In, typename Out>
    std::vector<Out> run(std::vector<In> const& given)
    {
        std::unique_ptr<ICudaEngine> const engine = buildEngine();
        if (engine == nullptr)
            return {};
        std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
        DeviceArray<In> const x{given};
        DeviceArray<Out> const y{4 * kPixels};
        context->setTensorAddress("x", x.data());
        context->setTensorAddress("y", y.data());
        EXPECT_TRUE(runToEnd(*context)) << logger.errors();
        return y.read();
    }
    void add()
    {
        convRelu.add(*network, dims({1, 3, 8, 10}));
    }
    void expectClose(std::vector<float> const& got, std::vector<float> const& x, float tolerance)
    {
        std::vector<float> const want = convRelu.expected(x, 1, 8, 10);
        ASSERT_EQ(got.size(), want.size());
        for (size_t i = 0; i < got.size(); ++i)
            ASSERT_NEAR(got[i], want[i], tolerance * (1.0F + std::abs(want[i]))) << "element " << i;
    }
};

TEST_F(Types, C17_aHalfInputMeetsFloatWeights)
{
    add();
    network->getInput(0)->setType(DataType::kHALF);
    EXPECT_EQ(network->getOutput(0)->getType(), DataType::kFLOAT) << "the widest of the operands' types";
    std::vector<Half> const x = halves(values);
    expectClose(run<Half, float>(x), floats(x), 1e-4F); // Computed in float32: no rounding but the input's.
}

TEST_F(Types, C17_inputsAndOutputsMayBeHalf)
{
    add();
    network->getInput(0)->setType(DataType::kHALF);
    network->getOutput(0)->setType(DataType::kHALF);
    std::vector<Half> const x = halves(values);
    expectClose(floats(run<Half, Half>(x)), floats(x), 1e-3F);
}

TEST_F(Types, C17_unlikeOperandsOfAnElementWiseLayerAreWidened)
{
    ITensor* a = network->addInput("a", DataType::kHALF, dims({3}));
    ITensor* b = network->addInput("b", DataType::kBF16, dims({3}));
    IElementWiseLayer* sum = network->addElementWise(*a, *b, ElementWiseOperation::kSUM);
    EXPECT_EQ(sum->getOutput(0)->getType(), DataType::kFLOAT);
    sum->getOutput(0)->setName("y");
    network->markOutput(*sum->getOutput(0));
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    DeviceArray<Half> const x{halves({1.0F, 2.0F, 1.0F / 1024.0F})};
    DeviceArray<uint16_t> const z{std::vector<uint16_t>{0x3f80, 0x4000, 0x3f80}}; // 1, 2, 1.
    DeviceArray<float> const y{3};
    context->setTensorAddress("a", x.data());
    context->setTensorAddress("b", z.data());
    context->setTensorAddress("y", y.data());
    ASSERT_TRUE(runToEnd(*context)) << logger.errors();
    EXPECT_EQ(y.read(), (std::vector<float>{2.0F, 4.0F, 1.0F + 1.0F / 1024.0F})) << "bfloat16 has no such number";
}

//! Precision float16 rounds operands and result, which a computation in float32 does not.
TEST_F(Types, C17_precisionsAreGivenUnderObey)
{
    add();
    ILayer* const conv = network->getLayer(0);
    conv->setPrecision(DataType::kHALF);
    std::vector<float> const wide = run<float, float>(values);
    config->setFlag(BuilderFlag::kOBEY_PRECISION_CONSTRAINTS);
    EXPECT_EQ(conv->getOutput(0)->getType(), DataType::kFLOAT) << "what it computes in is not what it gives";
    std::vector<float> const narrow = run<float, float>(values);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR), 0) << logger.errors();
    expectClose(narrow, values, 1e-2F);
    EXPECT_NE(narrow, wide);
    for (float const value : narrow)
        EXPECT_EQ(static_cast<float>(static_cast<Half>(value)), value);
}

TEST_F(Types, C17_precisionsOfLayersWithoutRealNumbersSayNothing)
{
    ITensor* x = network->addInput("x", DataType::kINT32, dims({3}));
    ILayer* sum = network->addElementWise(*x, *x, ElementWiseOperation::kSUM);
    sum->setPrecision(DataType::kHALF);
    network->markOutput(*sum->getOutput(0));
    config->setFlag(BuilderFlag::kOBEY_PRECISION_CONSTRAINTS);
    EXPECT_NE(buildEngine(), nullptr);
}

//! An int8 input or output with a dynamic range is a step of range / 127 wide.
TEST_F(Types, C17_int8WithADynamicRangeStandsForRealNumbers)
{
    add();
    ITensor* const x = network->getInput(0);
    ITensor* const y = network->getOutput(0);
    x->setType(DataType::kINT8);
    EXPECT_TRUE(x->setDynamicRange(-1.27F, 1.0F));
    y->setType(DataType::kINT8);
    EXPECT_TRUE(y->setDynamicRange(-4.0F, 4.0F));
    std::vector<int8_t> steps;
    for (float const value : values)
        steps.push_back(static_cast<int8_t>(std::lrint(value * 100.0F)));
    std::vector<float> real = floats(steps);
    for (float& value : real)
        value *= 0.01F;
    std::vector<int8_t> const got = run<int8_t, int8_t>(steps);
    std::vector<float> const want = convRelu.expected(real, 1, 8, 10);
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i)
        ASSERT_NEAR(got[i], std::min(want[i] * 127.0F / 4.0F, 127.0F), 0.51) << "element " << i;
}

TEST_F(Types, aLocationThatIsSoAnywayIsNoWarning)
{
    add();
    ITensor* const x = network->getInput(0);
    x->setLocation(TensorLocation::kDEVICE);
    EXPECT_EQ(logger.count(ILogger::Severity::kWARNING), 0);
    x->setLocation(TensorLocation::kHOST);
    EXPECT_EQ(logger.count(ILogger::Severity::kWARNING, "setLocation has no effect"), 1);
    EXPECT_EQ(x->getLocation(), TensorLocation::kDEVICE);
}

TEST_F(Types, C17_anInputOfInt8WithoutARangeIsRefusedWithWhatIsMissing)
{
    add();
    network->getInput(0)->setType(DataType::kINT8);
    EXPECT_EQ(builder->buildSerializedNetwork(*network, *config), nullptr);
    EXPECT_GE(logger.count(ILogger::Severity::kERROR,
                  "where network input 'x' stands for real numbers, setDynamicRange() says for which"),
        1)
        << logger.errors();
}

TEST_F(Types, C17_anInputOfInt8ThatALayerReadsTwiceIsNamedOnce)
{
    ITensor* const x = network->addInput("x", DataType::kINT8, dims({4, 4}));
    network->markOutput(
        *network->addMatrixMultiply(*x, MatrixOperation::kNONE, *x, MatrixOperation::kNONE)->getOutput(0));
    EXPECT_EQ(builder->buildSerializedNetwork(*network, *config), nullptr);
    std::string const errors = logger.errors();
    std::string const hint = "; where network input 'x' stands for real numbers, setDynamicRange() says for which";
    EXPECT_NE(errors.find(hint), std::string::npos) << errors;
    EXPECT_EQ(errors.find(hint + hint), std::string::npos) << errors;
}
} // namespace

} // namespace apitest
