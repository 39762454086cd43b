// Fields of every stock plugin, by the table that its creator advertises: one that it has not, one that is there twice,
// of another type or count, or without a name or data makes no plugin, and the reason names plugin and field.
#include "base/explanation.h"
#include "fuzz/stock_samples.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>

namespace tenon::test
{

namespace
{
using nvinfer1::PluginField;
using nvinfer1::PluginFieldType;
using plugins::builtin::StockPlugin;

class StockFields : public testing::TestWithParam<size_t>
{
  protected:
    static StockPlugin const& kind()
    {
        return plugins::builtin::allStockPlugins()[GetParam()];
    }
    void SetUp() override
    {
        mSample = sampleOf(kind());
        ASSERT_NE(mSample, nullptr) << kind().name << " version " << kind().version << " has no sample";
        mFields = mSample->pluginFields();
    }
    //! Empty where they make a plugin, else why they do not.
    static std::string refusal(std::vector<PluginField> const& fields)
    {
        auto const creator = plugins::builtin::creatorOf(kind(), "");
        nvinfer1::PluginFieldCollection const collection{static_cast<int32_t>(fields.size()), fields.data()};
        forgetExplanation();
        if (kind().isV3)
        {
            auto& newer = static_cast<nvinfer1::IPluginCreatorV3One&>(*creator);
            std::unique_ptr<nvinfer1::IPluginV3> const made{
                newer.createPlugin("", &collection, nvinfer1::TensorRTPhase::kBUILD)};
            return made != nullptr ? "" : takeExplanation();
        }
        auto& older = static_cast<nvinfer1::IPluginCreator&>(*creator);
        nvinfer1::IPluginV2* const made = older.createPlugin("", &collection);
        if (made == nullptr)
            return takeExplanation();
        made->destroy();
        return "";
    }
    static std::string about(PluginField const& field)
    {
        return std::string{"field '"} + field.name + "' of plugin '" + kind().name + "' version '" + kind().version
            + "' ";
    }
    //! Calls `change(field)` for a copy of each field of the sample, and expects a refusal with these words.
    template <typename Change>
    void expectEach(std::string const& words, Change&& change) const
    {
        for (size_t i = 0; i < mFields.size(); ++i)
        {
            std::vector<PluginField> fields = mFields;
            if (!change(fields[i]))
                continue;
            std::string const why = refusal(fields);
            EXPECT_NE(why.find(about(mFields[i]) + words), std::string::npos) << "it says: " << why;
        }
    }
    //! As the creator tells users.
    PluginField const& advertised(char const* name) const
    {
        return *std::ranges::find_if(
            kind().fields, [&](PluginField const& field) { return std::string_view{field.name} == name; });
    }

    StockSample const* mSample{nullptr};
    std::vector<PluginField> mFields;
};

TEST_P(StockFields, ofTheSampleMakeAPluginAndAreAll)
{
    EXPECT_EQ(refusal(mFields), "");
    for (PluginField const& known : kind().fields)
        if (bool const isAlwaysRefused = std::string_view{known.name} == "smTree"; !isAlwaysRefused)
        {
            EXPECT_TRUE(std::ranges::any_of(
                mFields, [&](PluginField const& field) { return std::string_view{field.name} == known.name; }))
                << known.name << " is not in the sample";
        }
}

TEST_P(StockFields, thatItHasNotAreRefused)
{
    int32_t const one{1};
    PluginField const unknown{"no_such_field", &one, PluginFieldType::kINT32, 1};
    mFields.push_back(unknown);
    std::string const why = refusal(mFields);
    EXPECT_NE(why.find(about(unknown) + "is none that it has: it must "), std::string::npos) << why;
    for (PluginField const& known : kind().fields)
        EXPECT_NE(why.find(known.name), std::string::npos) << why;
}

TEST_P(StockFields, thatAPlanAloneStoresAreRefused)
{
    std::array const numbers{int64_t{0}};
    PluginField const ports{"configured ports", numbers.data(), PluginFieldType::kINT64, 1};
    mFields.push_back(ports);
    EXPECT_NE(refusal(mFields).find(about(ports) + "is none that it has"), std::string::npos);
}

TEST_P(StockFields, thatAreThereTwiceAreRefused)
{
    for (PluginField const& field : mFields)
    {
        std::vector<PluginField> fields = mFields;
        fields.push_back(field);
        std::string const why = refusal(fields);
        EXPECT_NE(why.find(about(field) + "is there twice: it must be there once"), std::string::npos) << why;
    }
}

TEST_P(StockFields, ofAnotherTypeAreRefused)
{
    std::array const memory{int64_t{1}, int64_t{1}, int64_t{1}, int64_t{1}};
    for (auto const type : {PluginFieldType::kINT32, PluginFieldType::kFLOAT32, PluginFieldType::kCHAR,
             PluginFieldType::kDIMS, PluginFieldType::kUNKNOWN})
        expectEach(std::string{"is of PluginFieldType "} + std::to_string(static_cast<int32_t>(type)) + ": it must be ",
            [&](PluginField& field) {
                bool const isOther = advertised(field.name).type != type;
                field.type = type;
                field.data = memory.data();
                field.length = 1;
                return isOther;
            });
}

TEST_P(StockFields, ofAnotherCountAreRefused)
{
    std::array<int64_t, 64> const memory{};
    expectEach("has ", [&](PluginField& field) {
        int32_t const wanted = advertised(field.name).length;
        field.data = memory.data();
        field.length = wanted + 1;
        return wanted > 0 && wanted + 1 <= 64;
    });
}

TEST_P(StockFields, withoutDataAreRefused)
{
    expectEach("has ", [](PluginField& field) {
        field.data = nullptr;
        return field.length > 0;
    });
    expectEach("has -1 numbers", [](PluginField& field) {
        field.length = -1;
        return true;
    });
}

TEST_P(StockFields, withoutANameAreRefused)
{
    mFields.push_back({nullptr, nullptr, PluginFieldType::kINT32, 0});
    std::string const why = refusal(mFields);
    EXPECT_NE(why.find(std::string{"of plugin '"} + kind().name + "'"), std::string::npos) << why;
    EXPECT_NE(why.find("has no name"), std::string::npos) << why;
}

TEST_P(StockFields, ofWiderNumbersMakeAPlugin)
{
    std::vector<std::vector<int64_t>> integers;
    std::vector<std::vector<double>> reals;
    integers.reserve(mFields.size());
    reals.reserve(mFields.size());
    for (PluginField& field : mFields)
        if (field.type == PluginFieldType::kINT32)
        {
            auto const* const first = static_cast<int32_t const*>(field.data);
            field.data = integers.emplace_back(first, first + field.length).data();
            field.type = PluginFieldType::kINT64;
        }
        else if (field.type == PluginFieldType::kFLOAT32)
        {
            auto const* const first = static_cast<float const*>(field.data);
            field.data = reals.emplace_back(first, first + field.length).data();
            field.type = PluginFieldType::kFLOAT64;
        }
    EXPECT_EQ(refusal(mFields), "");
}

INSTANTIATE_TEST_SUITE_P(
    All, StockFields, testing::Range(size_t{0}, plugins::builtin::allStockPlugins().size()), [](auto const& info) {
        StockPlugin const& plugin = plugins::builtin::allStockPlugins()[info.param];
        return std::string{plugin.name} + "_" + plugin.version;
    });

} // namespace
} // namespace tenon::test
