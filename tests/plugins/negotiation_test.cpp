// Negotiation: which combinations are asked about first, and how many questions a plugin gets at most.
#include "plugins/flexible_test.h"

namespace plugintest
{
namespace
{

class Negotiation : public FlexibleTest<Flexible>
{
  protected:
    std::vector<TensorFormat> chosen; //!< As configured for building, inputs first.

    void SetUp() override
    {
        FlexibleTest::SetUp();
        network.reset(
            builder->createNetworkV2(1U << static_cast<uint32_t>(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED)));
        behaviour->configure = [this](DynamicDescs in, int32_t inputs, DynamicDescs out) {
            chosen.clear();
            for (int32_t i = 0; i < inputs; ++i)
                chosen.push_back(in[i].desc.format);
            chosen.push_back(out[0].desc.format);
            return 0;
        };
    }
    void addHalves(size_t inputs)
    {
        std::vector<ITensor*> all;
        for (size_t i = 0; i < inputs; ++i)
            all.push_back(network->addInput(("x" + std::to_string(i)).c_str(), DataType::kHALF, dims({1, 8, 4, 4})));
        ASSERT_NE(add(all), nullptr) << logger.errors();
    }
    static int32_t questions()
    {
        return Journal::get().count("supportsFormatCombination");
    }
};

TEST_F(Negotiation, J10_aPluginThatRefusesEverythingIsAskedABoundedNumberOfTimes)
{
    constexpr int32_t kInputs{8};
    behaviour->supports = [](int32_t position, DynamicDescs) { return position < kInputs; };
    addHalves(kInputs);
    std::string const errors = buildFails();
    EXPECT_NE(errors.find("the search ended after 100000 questions"), std::string::npos) << errors;
    EXPECT_NE(errors.find("output 0 (tensor 'y')"), std::string::npos) << errors;
    EXPECT_NE(errors.find("float16 LINEAR"), std::string::npos) << errors;
    EXPECT_LE(questions(), 100000);
}

TEST_F(Negotiation, J10_aSearchThatComesToItsEndSaysNothingOfABound)
{
    behaviour->supports = [](int32_t position, DynamicDescs) { return position < 2; };
    addHalves(2);
    EXPECT_EQ(buildFails().find("the search ended"), std::string::npos);
    // Each prefix once: 7 formats of the first input, 7 x 7 of both, and 7 x 7 x 7 with the output.
    EXPECT_EQ(questions(), 7 + 49 + 343);
}

TEST_F(Negotiation, J10_combinationsOfLikePortsComeFirst)
{
    registerCreator();
    behaviour->supports = [](int32_t position, DynamicDescs descs) {
        // Inputs may be anything, but the output only what the last of the formats is.
        return position < 6
            || (descs[6].desc.format == TensorFormat::kCHW32 && descs[0].desc.format == TensorFormat::kCHW32);
    };
    addHalves(6);
    ASSERT_NE(buildEngine(), nullptr) << logger.errors();
    EXPECT_EQ(chosen, std::vector<TensorFormat>(7, TensorFormat::kCHW32));
    EXPECT_LE(questions(), 7 * 2 * 7) << "not one of 7 ^ 6 prefixes";
}

TEST_F(Negotiation, J10_oneUnlikePortIsFoundSoon)
{
    registerCreator();
    behaviour->supports = [](int32_t position, DynamicDescs descs) {
        TensorFormat const format = descs[position].desc.format;
        return format == (position == 3 ? TensorFormat::kHWC8 : TensorFormat::kLINEAR) || position == 1;
    };
    addHalves(6);
    ASSERT_NE(buildEngine(), nullptr) << logger.errors();
    std::vector<TensorFormat> wanted(7, TensorFormat::kLINEAR);
    wanted[3] = TensorFormat::kHWC8;
    EXPECT_EQ(chosen, wanted);
    EXPECT_LE(questions(), 1000);
}

} // namespace
} // namespace plugintest
