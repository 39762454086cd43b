// Formats of inputs and outputs: what a build takes, what engine and context say of it, and results in each.
#include "fixture.h"

#include <cmath>

namespace apitest
{

namespace
{
constexpr uint32_t bit(TensorFormat format)
{
    return 1U << static_cast<uint32_t>(format);
}

//! One format of a type at a rank: vectors of channels (1: channels alone) and whether channels lie innermost.
struct FormatCase
{
    TensorFormat format;
    DataType type;
    int64_t lanes;
    bool isLast;
    int32_t rank{4};
};

class Formats : public ApiTest, public ::testing::WithParamInterface<FormatCase>
{
  protected:
    static constexpr int64_t kChannels{6};
    static constexpr int64_t kPixels{3 * 5};

    //! y = x in another type, so that there is a step between; x [2, 6, (1,) 3, 5].
    void add(FormatCase const& c, bool isInput)
    {
        Dims const shape = c.rank == 5 ? dims({2, kChannels, 1, 3, 5}) : dims({2, kChannels, 3, 5});
        bool const isHalf = c.type != DataType::kFLOAT;
        DataType const other = isHalf ? DataType::kFLOAT : DataType::kHALF;
        ITensor* x = network->addInput("x", isInput ? c.type : other, shape);
        ITensor* y = network->addCast(*x, isInput ? other : c.type)->getOutput(0);
        y->setName("y");
        network->markOutput(*y);
        (isInput ? x : y)->setAllowedFormats(bit(c.format));
    }
    //! Where an element of x or y lies by hand.
    static size_t at(FormatCase const& c, int64_t n, int64_t ch, int64_t s)
    {
        int64_t const vectors = (kChannels + c.lanes - 1) / c.lanes;
        int64_t const index = c.isLast ? (n * kPixels + s) * vectors * c.lanes + ch
                                       : ((n * vectors + ch / c.lanes) * kPixels + s) * c.lanes + ch % c.lanes;
        return static_cast<size_t>(index);
    }
};

template <typename T, typename Visit>
std::vector<T> filled(size_t count, Visit&& at, int64_t channels, int64_t pixels)
{
    std::vector<T> values(count, T{});
    for (int64_t n = 0; n < 2; ++n)
        for (int64_t ch = 0; ch < channels; ++ch)
            for (int64_t s = 0; s < pixels; ++s)
                values[at(n, ch, s)] = static_cast<T>(n * 100 + ch * 15 + s);
    return values;
}

template <typename T>
void expectRuns(FormatCase const& c, ICudaEngine& engine, bool isInput, std::vector<T> const& laidOut)
{
    std::unique_ptr<IExecutionContext> const context{engine.createExecutionContext()};
    using Other = std::conditional_t<std::is_same_v<T, float>, _Float16, float>;
    auto const plain = [](int64_t n, int64_t ch, int64_t s) { return static_cast<size_t>((n * 6 + ch) * 15 + s); };
    std::vector<Other> const linear = filled<Other>(2 * 6 * 15, plain, 6, 15);
    DeviceArray<T> const mine = isInput ? DeviceArray<T>{laidOut} : DeviceArray<T>{laidOut.size()};
    DeviceArray<Other> const others = isInput ? DeviceArray<Other>{linear.size()} : DeviceArray<Other>{linear};
    context->setTensorAddress(isInput ? "x" : "y", mine.data());
    context->setTensorAddress(isInput ? "y" : "x", others.data());
    ASSERT_TRUE(runToEnd(*context));
    if (isInput)
        EXPECT_EQ(others.read(), linear);
    else
        EXPECT_EQ(mine.read(), laidOut) << "padding is zero";
    char const* const name = isInput ? "x" : "y";
    Dims const strides = context->getTensorStrides(name);
    int64_t const vectors = (6 + c.lanes - 1) / c.lanes;
    EXPECT_EQ(strides.d[1], c.isLast ? 1 : 15);
    EXPECT_EQ(strides.d[0], vectors * 15);
    EXPECT_EQ(strides.d[c.rank - 1], c.isLast ? vectors : 1);
    if (!isInput)
    {
        EXPECT_EQ(context->getMaxOutputSize("y"), static_cast<int64_t>(laidOut.size() * sizeof(T)));
    }
}

TEST_P(Formats, C14_inputsAndOutputsLieAsTheirFormatsSay)
{
    FormatCase const& c = GetParam();
    for (bool const isInput : {true, false})
    {
        network.reset(builder->createNetworkV2(0));
        add(c, isInput);
        std::unique_ptr<ICudaEngine> const engine = buildEngine();
        ASSERT_NE(engine, nullptr);
        char const* const name = isInput ? "x" : "y";
        EXPECT_EQ(engine->getTensorFormat(name), c.format);
        EXPECT_EQ(engine->getTensorFormat(isInput ? "y" : "x"), TensorFormat::kLINEAR);
        EXPECT_EQ(engine->getTensorComponentsPerElement(name), c.lanes == 1 ? -1 : c.lanes);
        EXPECT_EQ(engine->getTensorVectorizedDim(name), c.lanes == 1 ? -1 : 1);
        EXPECT_EQ(engine->getTensorBytesPerComponent(name), c.lanes == 1 ? -1 : c.type == DataType::kFLOAT ? 4 : 2);
        EXPECT_STRNE(engine->getTensorFormatDesc(name), engine->getTensorFormatDesc(isInput ? "y" : "x"));
        auto const where = [&](int64_t n, int64_t ch, int64_t s) { return at(c, n, ch, s); };
        auto const count = static_cast<size_t>(2 * ((kChannels + c.lanes - 1) / c.lanes * c.lanes) * kPixels);
        if (c.type == DataType::kFLOAT)
            expectRuns(c, *engine, isInput, filled<float>(count, where, kChannels, kPixels));
        else
            expectRuns(c, *engine, isInput, filled<_Float16>(count, where, kChannels, kPixels));
    }
}

INSTANTIATE_TEST_SUITE_P(All, Formats,
    ::testing::Values(FormatCase{TensorFormat::kHWC, DataType::kFLOAT, 1, true},
        FormatCase{TensorFormat::kDHWC, DataType::kFLOAT, 1, true, 5},
        FormatCase{TensorFormat::kCHW2, DataType::kHALF, 2, false},
        FormatCase{TensorFormat::kCHW4, DataType::kHALF, 4, false},
        FormatCase{TensorFormat::kCHW16, DataType::kHALF, 16, false},
        FormatCase{TensorFormat::kCHW32, DataType::kFLOAT, 32, false},
        FormatCase{TensorFormat::kHWC8, DataType::kHALF, 8, true},
        FormatCase{TensorFormat::kHWC16, DataType::kHALF, 16, true},
        FormatCase{TensorFormat::kDHWC8, DataType::kHALF, 8, true, 5},
        FormatCase{TensorFormat::kCDHW32, DataType::kHALF, 32, false, 5}));

class FormatRules : public ApiTest
{
};

TEST_F(FormatRules, C14_linearIsTakenWhereItMayBe)
{
    convRelu.add(*network, dims({1, 3, 8, 10}));
    network->getInput(0)->setAllowedFormats(bit(TensorFormat::kHWC) | bit(TensorFormat::kLINEAR));
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    EXPECT_EQ(engine->getTensorFormat("x"), TensorFormat::kLINEAR);
}

TEST_F(FormatRules, C14_aFormatForOtherTypesIsRefusedWithThoseItIsFor)
{
    convRelu.add(*network, dims({1, 3, 8, 10}));
    network->getInput(0)->setAllowedFormats(bit(TensorFormat::kCHW4) | bit(TensorFormat::kDHWC));
    std::unique_ptr<IHostMemory> const plan{builder->buildSerializedNetwork(*network, *config)};
    EXPECT_EQ(plan, nullptr);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR,
                  "tensor 'x' allows the formats kDHWC (rank 5: float32), kCHW4 (rank 4: float16 int8), none of which "
                  "is for float32 at rank 4: allow kLINEAR"),
        1)
        << logger.errors();
}

TEST_F(FormatRules, C14_formatsOfDlaAreRefusedByName)
{
    convRelu.add(*network, dims({1, 3, 8, 10}));
    for (auto const& [format, name] :
        {std::pair{TensorFormat::kDLA_LINEAR, "kDLA_LINEAR (of DLA"}, {TensorFormat::kDLA_HWC4, "kDLA_HWC4 (of DLA"}})
    {
        network->getInput(0)->setAllowedFormats(bit(format));
        std::unique_ptr<IHostMemory> const plan{builder->buildSerializedNetwork(*network, *config)};
        EXPECT_EQ(plan, nullptr);
        EXPECT_EQ(logger.count(ILogger::Severity::kERROR, name), 1) << logger.errors();
    }
}

//! A convolution between channels-last tensors needs no reorder on the CPU.
TEST_F(FormatRules, directIOIsAFormatThatKernelsTake)
{
    convRelu.add(*network, dims({1, 3, 8, 10}));
    for (ITensor* tensor : {network->getInput(0), network->getOutput(0)})
        tensor->setAllowedFormats(bit(TensorFormat::kHWC));
    config->setFlag(BuilderFlag::kDIRECT_IO);
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    std::unique_ptr<IEngineInspector> const inspector{engine->createEngineInspector()};
    std::string const text = inspector->getEngineInformation(LayerInformationFormat::kJSON);
    EXPECT_EQ(text.find("reorder"), std::string::npos) << text;
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    std::vector<float> const x = randomFloats(3 * 80, 5);
    std::vector<float> last(x.size());
    for (size_t c = 0; c < 3; ++c)
        for (size_t s = 0; s < 80; ++s)
            last[s * 3 + c] = x[c * 80 + s];
    DeviceArray<float> const in{last};
    DeviceArray<float> const out{4 * 80};
    context->setTensorAddress("x", in.data());
    context->setTensorAddress("y", out.data());
    ASSERT_TRUE(runToEnd(*context)) << logger.errors();
    std::vector<float> const got = out.read();
    std::vector<float> plain(got.size());
    for (size_t c = 0; c < 4; ++c)
        for (size_t s = 0; s < 80; ++s)
            plain[c * 80 + s] = got[s * 4 + c];
    expectNear(plain, convRelu.expected(x, 1, 8, 10));
}

TEST_F(FormatRules, directIORefusesAFormatThatNoKernelTakes)
{
    convRelu.add(*network, dims({1, 3, 8, 10}));
    network->getInput(0)->setAllowedFormats(bit(TensorFormat::kCHW32));
    config->setFlag(BuilderFlag::kDIRECT_IO);
    std::unique_ptr<IHostMemory> const plan{builder->buildSerializedNetwork(*network, *config)};
    EXPECT_EQ(plan, nullptr);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "BuilderFlag::kDIRECT_IO: tensor 'x' is blocked32"), 1)
        << logger.errors();
}

//! Nothing is asked of tensors whose formats nobody has said.
TEST_F(FormatRules, directIOLeavesOtherTensorsAlone)
{
    convRelu.add(*network, dims({1, 3, 8, 10}));
    config->setFlag(BuilderFlag::kDIRECT_IO);
    EXPECT_NE(buildEngine(), nullptr);
    EXPECT_EQ(logger.count(ILogger::Severity::kWARNING), 0);
}
} // namespace

} // namespace apitest
