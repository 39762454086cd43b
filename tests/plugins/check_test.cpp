// The checking host: each seeded defect is found, alone and by its name, and sound plugins of all generations pass.
#include "plugins/circ_pad.h"
#include "plugins/faulty.h"
#include "plugins/flexible.h"
#include "plugins/formats_asked.h"
#include "tenon/testing.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <set>

#include <sys/wait.h>
#include <unistd.h>

namespace plugintest
{
namespace
{

using tenon::testing::Finding;
using tenon::testing::Options;
using tenon::testing::Report;
using tenon::testing::Tensors;

Options const& usual()
{
    static Options const options = [] {
        Options made;
        made.inputs = {tenon::testing::range({1, 3, 5}, {2, 3, 5}, {4, 3, 5})};
        return made;
    }();
    return options;
}

class Check : public testing::Test
{
  protected:
    void SetUp() override
    {
        Wrong::now() = {};
    }
    void TearDown() override
    {
        Wrong::now() = {};
    }

    template <typename Creator>
    static Report checkWith(Fault fault, std::string where = {}, Options const& options = usual())
    {
        Wrong::now() = {fault, std::move(where)};
        static Creator creator;
        float const scale{2.5F};
        PluginField const field{"scale", &scale, PluginFieldType::kFLOAT32, 1};
        PluginFieldCollection const fields{1, &field};
        Report report = tenon::testing::check(creator, options, &fields);
        Wrong::now() = {};
        return report;
    }
    //! Exactly one finding, of this check, rule and callback.
    static void expectOnly(
        Report const& report, std::string const& check, std::string const& rule, std::string const& callback)
    {
        ASSERT_EQ(report.findings().size(), 1U) << report.message();
        Finding const& found = report.findings().front();
        EXPECT_EQ(found.check, check) << report.message();
        EXPECT_EQ(found.rule, rule) << report.message();
        EXPECT_EQ(found.callback, callback) << report.message();
        EXPECT_FALSE(found.rule.empty());
        EXPECT_FALSE(found.what.empty());
        EXPECT_FALSE(found.change.empty());
    }
};

using Dynamic = FaultyCreator<FaultyDynamic>;
using Ext = FaultyCreator<FaultyV2Ext>;
using IOExt = FaultyCreator<FaultyV2IOExt>;
using FaultyV3 = FaultyCreatorV3;

// ---- sound plugins

TEST_F(Check, soundPluginsOfAllGenerationsPass)
{
    Options options;
    options.inputs = {tenon::testing::range({1, 2, 5, 7}, {2, 2, 5, 7}, {4, 2, 5, 7})};
    options.reference = [](Tensors const& in, Tensors const& out) {
        Dims from{in[0].rank, {}};
        Dims to{out[0].rank, {}};
        std::copy_n(in[0].shape, in[0].rank, from.d);
        std::copy_n(out[0].shape, out[0].rank, to.d);
        CircPadCore{}.run(from, to, elementSize(static_cast<DataType>(in[0].type)), in[0].data, out[0].data);
        return true;
    };
    CircPadCreator<CircPadV2> v2;
    CircPadCreator<CircPadV2Ext> v2Ext;
    CircPadCreator<CircPadV2IOExt> v2IOExt;
    CircPadCreator<CircPadV2DynamicExt> v2DynamicExt;
    CircPadCreatorV3 v3;
    for (IPluginCreatorInterface* creator :
        std::initializer_list<IPluginCreatorInterface*>{&v2, &v2Ext, &v2IOExt, &v2DynamicExt, &v3})
    {
        Journal::get().clear();
        Report const report = tenon::testing::check(*creator, options);
        EXPECT_TRUE(report);
        EXPECT_NE(report.json().find("\"combinations\": 4"), std::string::npos) << report.json();
        EXPECT_EQ(Journal::get().alive(), 0) << "each object that the host got is given back";
        EXPECT_EQ(Journal::get().count("initialize"), Journal::get().count("terminate"));
        EXPECT_EQ(Journal::get().count("sawLaterEntry") > 0, creator != &v2 && creator != &v2Ext)
            << "things that exist stand behind the position, too";
    }
}

//! The engine offers no others: tests/plugins/formats_test.cpp.
TEST_F(Check, J3_theOldestGenerationsHearOfTheOldestFormatsOnly)
{
    Options options;
    options.inputs = {tenon::testing::range({1, 8, 5, 7}, {2, 8, 5, 7}, {4, 8, 5, 7})};
    CircPadCreator<CircPadV2> v2;
    CircPadCreator<CircPadV2Ext> v2Ext;
    for (IPluginCreatorInterface* creator : std::initializer_list<IPluginCreatorInterface*>{&v2, &v2Ext})
    {
        Journal::get().clear();
        EXPECT_TRUE(tenon::testing::check(*creator, options));
        EXPECT_EQ(formatsAskedAbout(), kOldestFormats);
    }
}

TEST_F(Check, theFaultyPluginIsSoundWithoutItsFaults)
{
    for (bool const isolated : {false, true})
    {
        Options options = usual();
        options.isolated = isolated;
        EXPECT_TRUE(checkWith<Dynamic>(Fault::kNone, {}, options));
        EXPECT_TRUE(checkWith<Ext>(Fault::kNone, {}, options));
        EXPECT_TRUE(checkWith<IOExt>(Fault::kNone, {}, options));
        EXPECT_TRUE(checkWith<FaultyV3>(Fault::kNone, {}, options));
    }
}

TEST_F(Check, objectsStayTheUsers)
{
    FaultyV3 v3;
    EXPECT_TRUE(tenon::testing::check(v3, usual()));
    auto* v2 = new FaultyDynamic;
    Dynamic creator;
    Options options = usual();
    options.creator = &creator;
    EXPECT_TRUE(tenon::testing::check(*v2, options));
    v2->destroy();
    Wrong::now() = {Fault::kCloneForgets, {}};
    EXPECT_FALSE(tenon::testing::check(v3, usual()));
}

TEST_F(Check, shapeInputsReachThePlugin)
{
    Options options;
    options.inputs = {tenon::testing::shape({2, 5, 7}), tenon::testing::values({3, 1})};
    CircPadCreatorV3 creator;
    EXPECT_TRUE(tenon::testing::check(creator, options));
}

// ---- objects and their lives

TEST_F(Check, K10_L6_aCloneThatForgetsAMember)
{
    expectOnly(checkWith<Dynamic>(Fault::kCloneForgets), "clone-carries", "K10", "clone");
    expectOnly(checkWith<FaultyV3>(Fault::kCloneForgets), "clone-carries", "L6", "clone");
}

TEST_F(Check, K10_aCloneOfAConfiguredPluginIsConfigured)
{
    expectOnly(checkWith<Ext>(Fault::kCloneForgetsConfiguration), "clone-carries", "K10", "clone");
    expectOnly(checkWith<IOExt>(Fault::kCloneForgetsConfiguration), "clone-carries", "K10", "clone");
}

TEST_F(Check, J6_aCloneIsBornInitialized)
{
    expectOnly(checkWith<Dynamic>(Fault::kCloneNotInitialized), "clone-initialized", "J6", "clone");
    expectOnly(checkWith<Ext>(Fault::kCloneNotInitialized), "clone-initialized", "J6", "clone");
}

TEST_F(Check, J7_L7_newObjects)
{
    expectOnly(checkWith<Dynamic>(Fault::kCloneIsItself), "new-object", "J7", "clone");
    expectOnly(checkWith<FaultyV3>(Fault::kAttachIsItself), "new-object", "L7", "attachToContext");
}

TEST_F(Check, J7_terminateFreesWhatClonesShare)
{
    expectOnly(checkWith<Dynamic>(Fault::kTerminateFreesShared), "terminate-keeps-others", "J7", "terminate");
    expectOnly(checkWith<Ext>(Fault::kTerminateFreesShared), "terminate-keeps-others", "J7", "terminate");
}

TEST_F(Check, J7_initializeAndTerminateBalance)
{
    expectOnly(checkWith<Dynamic>(Fault::kInitializeOnlyOnce), "initialize-again", "J7", "initialize");
}

TEST_F(Check, J7_L5_destroyFreesWhatClonesShare)
{
    expectOnly(checkWith<Dynamic>(Fault::kDestroyFreesShared), "destroy-keeps-others", "J7", "destroy");
    expectOnly(checkWith<FaultyV3>(Fault::kDestroyFreesShared), "destroy-keeps-others", "L5", "destructor");
}

TEST_F(Check, J8_detachFreesWhatContextsShare)
{
    expectOnly(checkWith<Dynamic>(Fault::kDetachFreesShared), "detach-keeps-others", "J8", "detachFromContext");
}

TEST_F(Check, J8_L7_memoryOfTheContextIsGivenBack)
{
    expectOnly(checkWith<Dynamic>(Fault::kKeepsContextMemory), "allocations", "J8", "detachFromContext");
    expectOnly(checkWith<FaultyV3>(Fault::kKeepsContextMemory), "allocations", "L7", "destructor");
}

TEST_F(Check, contextsThatShareScratchMemory)
{
    expectOnly(checkWith<Dynamic>(Fault::kSharedScratch), "contexts-apart", "K10", "enqueue");
    expectOnly(checkWith<FaultyV3>(Fault::kSharedScratch), "contexts-apart", "L7", "enqueue");
}

// ---- answers

TEST_F(Check, J10_L17_anAnswerThatDependsOnLaterPositions)
{
    expectOnly(checkWith<Dynamic>(Fault::kLooksAhead), "looks-ahead", "J10", "supportsFormatCombination");
    expectOnly(checkWith<IOExt>(Fault::kLooksAhead), "looks-ahead", "J10", "supportsFormatCombination");
    expectOnly(checkWith<FaultyV3>(Fault::kLooksAhead), "looks-ahead", "L17", "supportsFormatCombination");
}

TEST_F(Check, equalQuestionsHaveEqualAnswers)
{
    expectOnly(checkWith<Dynamic>(Fault::kUnstableFormats), "stable-answers", "PC1", "supportsFormatCombination");
    expectOnly(checkWith<IOExt>(Fault::kUnstableFormats), "stable-answers", "PC1", "supportsFormatCombination");
}

TEST_F(Check, J3_L22_nothingIsAccepted)
{
    expectOnly(checkWith<Ext>(Fault::kAcceptsNothing), "combination", "J3", "supportsFormat");
    expectOnly(checkWith<FaultyV3>(Fault::kAcceptsNothing), "combination", "L22", "supportsFormatCombination");
}

TEST_F(Check, L14_theCombinationLimitIsPositive)
{
    expectOnly(checkWith<FaultyV3>(Fault::kNoCombinations), "combination-limit", "L14", "getFormatCombinationLimit");
}

TEST_F(Check, L15_tacticsArePositiveAndUnique)
{
    expectOnly(checkWith<FaultyV3>(Fault::kTacticsTwice), "call-fails", "L15", "getValidTactics");
    expectOnly(checkWith<FaultyV3>(Fault::kTacticZero), "call-fails", "L15", "getValidTactics");
}

TEST_F(Check, L18_anAliasThatIsNone)
{
    expectOnly(checkWith<FaultyV3>(Fault::kAliasOutOfRange), "alias", "L18", "getAliasedInput");
}

TEST_F(Check, K12_L9_aShapeThatDoesNotFollowItsInputs)
{
    expectOnly(checkWith<Dynamic>(Fault::kConstantShape), "shapes-agree", "K12", "getOutputDimensions");
    expectOnly(checkWith<FaultyV3>(Fault::kConstantShape), "shapes-agree", "L9", "getOutputShapes");
}

TEST_F(Check, J15_L3_namesOfPluginAndCreator)
{
    expectOnly(checkWith<Dynamic>(Fault::kOtherVersion), "names", "J15", "getPluginVersion");
    expectOnly(checkWith<FaultyV3>(Fault::kOtherVersion), "names", "L3", "getPluginVersion");
    expectOnly(checkWith<FaultyV3>(Fault::kNullNamespace), "names", "L3", "getPluginNamespace");
}

TEST_F(Check, L3_theNamespaceThatTheCreatorIsRegisteredUnder)
{
    Options options = usual();
    options.nameSpace = "elsewhere";
    Report const report = checkWith<FaultyV3>(Fault::kNone, {}, options);
    expectOnly(report, "names", "L3", "getPluginNamespace");
    EXPECT_NE(report.message().find("its creator is registered under 'elsewhere'"), std::string::npos)
        << report.message();
    EXPECT_TRUE(checkWith<Dynamic>(Fault::kNone, {}, options)) << "the library tells those of V2";
}

TEST_F(Check, J16_theNamespaceIsKept)
{
    expectOnly(checkWith<Dynamic>(Fault::kForgetsNamespace), "namespace", "J16", "getPluginNamespace");
}

TEST_F(Check, fieldNamesAreUnique)
{
    expectOnly(checkWith<FaultyV3>(Fault::kFieldTwice), "field-names", "L4", "getFieldNames");
}

TEST_F(Check, L4_fieldsThatTheCreatorDoesNotAdvertise)
{
    float const scale{2.5F};
    std::array<PluginField, 2> const fields{
        PluginField{"scale", &scale, PluginFieldType::kFLOAT32, 1}, {"scael", &scale, PluginFieldType::kFLOAT32, 1}};
    PluginFieldCollection const given{2, fields.data()};
    FaultyV3 creator;
    Report const report = tenon::testing::check(creator, usual(), &given);
    expectOnly(report, "unknown-field", "L4", "getFieldNames");
    EXPECT_NE(report.message().find("'scael', and the creator advertises 'scale', 'offset'"), std::string::npos)
        << report.message();
}

TEST_F(Check, L1_capabilitiesThatAreMissing)
{
    auto behaviour = std::make_shared<Behaviour>();
    behaviour->lacks = static_cast<int32_t>(PluginCapabilityType::kBUILD);
    Flexible plugin{behaviour};
    expectOnly(tenon::testing::check(plugin, usual()), "capabilities", "L1", "getCapabilityInterface");
}

//! A core from a later version of the interface.
class LaterCore final : public IPluginV3OneCore
{
  public:
    InterfaceInfo getInterfaceInfo() const noexcept override
    {
        return {"PLUGIN_V3ONE_CORE", 3, 0};
    }
    AsciiChar const* getPluginName() const noexcept override
    {
        return "Later";
    }
    AsciiChar const* getPluginVersion() const noexcept override
    {
        return "1";
    }
    AsciiChar const* getPluginNamespace() const noexcept override
    {
        return "";
    }
};

class Later final : public Flexible
{
  public:
    using Flexible::Flexible;
    IPluginCapability* getCapabilityInterface(PluginCapabilityType kind) noexcept override
    {
        return kind == PluginCapabilityType::kCORE ? &mCore : Flexible::getCapabilityInterface(kind);
    }

  private:
    LaterCore mCore;
};

TEST_F(Check, L25_versionsOfInterfaces)
{
    Later plugin{std::make_shared<Behaviour>()};
    expectOnly(tenon::testing::check(plugin, usual()), "interface", "L25", "getInterfaceInfo");
}

// ---- serialization

TEST_F(Check, J14_sizesOfSerialization)
{
    expectOnly(checkWith<Dynamic>(Fault::kSerializesMore), "serialize-size", "J14", "serialize");
    expectOnly(checkWith<Dynamic>(Fault::kSerializesLess), "serialize-size", "J14", "serialize");
}

TEST_F(Check, J15_L3_aRoundTripThatLosesAField)
{
    expectOnly(checkWith<Dynamic>(Fault::kReadLosesField), "round-trip", "J15", "deserializePlugin");
    expectOnly(checkWith<IOExt>(Fault::kReadLosesField), "round-trip", "J15", "deserializePlugin");
    expectOnly(checkWith<FaultyV3>(Fault::kReadLosesField), "round-trip", "L3", "createPlugin");
    expectOnly(checkWith<Dynamic>(Fault::kStoreLosesField), "round-trip", "J15", "serialize");
    expectOnly(checkWith<FaultyV3>(Fault::kStoreLosesField), "round-trip", "L3", "getFieldsToSerialize");
}

// ---- runs

TEST_F(Check, K9_workspaceIsKept)
{
    expectOnly(checkWith<Dynamic>(Fault::kWorkspaceOverrun), "workspace-bounds", "K9", "enqueue");
    expectOnly(checkWith<Ext>(Fault::kWorkspaceOverrun), "workspace-bounds", "K9", "enqueue");
    expectOnly(checkWith<FaultyV3>(Fault::kWorkspaceGarbage), "workspace-contents", "K9", "enqueue");
}

//! Three rows lie between the bounds of 1 and 4, and are not the best extent either.
TEST_F(Check, K9_smallerExtentsWantNoMoreWorkspace)
{
    Report const report = checkWith<Dynamic>(Fault::kWorkspaceOfSmall);
    expectOnly(report, "workspace-largest", "K9", "getWorkspaceSize");
    EXPECT_NE(report.message().find("3x3x5"), std::string::npos) << report.message();
    EXPECT_NE(report.message().find("asks for 4097 bytes"), std::string::npos) << report.message();
    expectOnly(checkWith<Ext>(Fault::kWorkspaceOfSmall), "workspace-largest", "K9", "getWorkspaceSize");
    expectOnly(checkWith<FaultyV3>(Fault::kWorkspaceOfSmall), "workspace-largest", "K9", "getWorkspaceSize");
}

TEST_F(Check, outputsAreWrittenWholeAndNoMore)
{
    expectOnly(checkWith<Dynamic>(Fault::kUnwrittenTail), "output-written", "PC2", "enqueue");
    expectOnly(checkWith<IOExt>(Fault::kUnwrittenTail), "output-written", "PC2", "enqueue");
    expectOnly(checkWith<FaultyV3>(Fault::kOutputTooLarge), "output-written", "PC2", "enqueue");
    expectOnly(checkWith<Dynamic>(Fault::kWritesPastEnd), "output-bounds", "PC2", "enqueue");
    expectOnly(checkWith<FaultyV3>(Fault::kWritesBeforeBegin), "output-bounds", "PC2", "enqueue");
}

TEST_F(Check, inputsAreKept)
{
    expectOnly(checkWith<Dynamic>(Fault::kChangesInput), "inputs-kept", "PC3", "enqueue");
    expectOnly(checkWith<FaultyV3>(Fault::kChangesInput), "inputs-kept", "L18", "enqueue");
}

TEST_F(Check, runsRepeat)
{
    expectOnly(checkWith<Dynamic>(Fault::kCounts), "repeatable", "PC4", "enqueue");
    expectOnly(checkWith<FaultyV3>(Fault::kCounts), "repeatable", "PC4", "enqueue");
}

TEST_F(Check, L23_emptyTensorsAreHandled)
{
    expectOnly(checkWith<Dynamic>(Fault::kFailsWhenEmpty), "empty-tensors", "L23", "enqueue");
    expectOnly(checkWith<FaultyV3>(Fault::kFailsWhenEmpty), "empty-tensors", "L23", "enqueue");
    Options options = usual();
    options.empties = false;
    EXPECT_TRUE(checkWith<FaultyV3>(Fault::kFailsWhenEmpty, {}, options));
}

TEST_F(Check, resultsAreComparedWithAReference)
{
    Options options = usual();
    options.reference = [](Tensors const& in, Tensors const& out) {
        int64_t count{1};
        for (int32_t i = 0; i < in[0].rank; ++i)
            count *= in[0].shape[i];
        for (int64_t i = 0; i < count; ++i)
            static_cast<float*>(out[0].data)[i] = static_cast<float const*>(in[0].data)[i] * 2.5F + 0.25F;
        return true;
    };
    EXPECT_TRUE(checkWith<Dynamic>(Fault::kNone, {}, options));
    Report const report = checkWith<FaultyV3>(Fault::kWrongResult, {}, options);
    expectOnly(report, "reference", "PC6", "enqueue");
    EXPECT_NE(report.message().find("output 0, element 5"), std::string::npos) << report.message();
}

TEST_F(Check, aReferenceThatFailsIsNoSuccess)
{
    for (bool const isIsolated : {false, true})
    {
        Options options = usual();
        options.isolated = isIsolated;
        options.reference = [](Tensors const&, Tensors const&) { return false; };
        expectOnly(checkWith<FaultyV3>(Fault::kNone, {}, options), "reference", "PC6", "enqueue");
        options.reference = [](Tensors const&, Tensors const&) -> bool { throw std::runtime_error{"no row 7"}; };
        Report const report = checkWith<Dynamic>(Fault::kNone, {}, options);
        expectOnly(report, "reference", "PC6", "enqueue");
        EXPECT_NE(report.message().find("the reference function failed: it returned 1: no row 7"), std::string::npos)
            << report.message();
        options.reference = {};
        options.fill = [](int32_t, TenonCheckTensor const&) -> bool { throw std::runtime_error{"no row 8"}; };
        Report const filled = checkWith<FaultyV3>(Fault::kNone, {}, options);
        expectOnly(filled, "fill", "PC9", "enqueue");
        EXPECT_NE(filled.message().find("no row 8"), std::string::npos) << filled.message();
    }
}

//! The elements above zero, in order; `written`: what stands in the size tensor.
std::shared_ptr<Behaviour> positives(std::function<int32_t(int32_t)> written)
{
    auto behaviour = std::make_shared<Behaviour>();
    behaviour->outputs = 2;
    behaviour->types = [](DataType* out, DataType const*) {
        out[1] = DataType::kINT32;
        return 0;
    };
    behaviour->shapes = [](DimsExprs const* in, DimsExprs const*, DimsExprs* out, IExprBuilder& builder) {
        out[0] = {1, {builder.declareSizeTensor(1, *in[0].d[0], *in[0].d[0])}};
        out[1] = {0, {}};
        return out[0].d[0] == nullptr ? 1 : 0;
    };
    behaviour->supports = [](int32_t position, DynamicDescs descs) {
        return descs[position].desc.type == (position == 2 ? DataType::kINT32 : DataType::kFLOAT)
            && descs[position].desc.format == TensorFormat::kLINEAR;
    };
    behaviour->enqueue = [written](
                             TensorDescs in, TensorDescs, void const* const* inputs, void* const* outputs, void*) {
        auto const* x = static_cast<float const*>(inputs[0]);
        int32_t count{0};
        for (int64_t i = 0; i < in[0].dims.d[0]; ++i)
            if (x[i] > 0.0F)
                static_cast<float*>(outputs[0])[count++] = x[i];
        *static_cast<int32_t*>(outputs[1]) = written(count);
        return 0;
    };
    return behaviour;
}

TEST_F(Check, L10_sizesThatOnlyRunningTells)
{
    Options options;
    options.inputs = {tenon::testing::range({1}, {40}, {60})};
    Flexible sound{positives([](int32_t count) { return count; })};
    EXPECT_TRUE(tenon::testing::check(sound, options));
    options.inputs = {tenon::testing::shape({40})};
    options.empties = false;
    Flexible more{positives([](int32_t count) { return count + 1; })};
    expectOnly(tenon::testing::check(more, options), "output-written", "PC2", "enqueue");
    Flexible wrong{positives([](int32_t) { return 41; })};
    expectOnly(tenon::testing::check(wrong, options), "size-tensor", "L10", "enqueue");
}

TEST_F(Check, L15_everyTacticRuns)
{
    auto behaviour = std::make_shared<Behaviour>();
    behaviour->tactics = {2, 5};
    auto const chosen = std::make_shared<std::atomic<int32_t>>(0);
    std::set<int32_t> seen;
    behaviour->setTactic = [&](int32_t tactic) {
        seen.insert(tactic);
        *chosen = tactic;
        return 0;
    };
    Flexible sound{behaviour};
    EXPECT_TRUE(tenon::testing::check(sound, usual()));
    EXPECT_EQ(seen, (std::set<int32_t>{2, 5}));
    behaviour->enqueue = [chosen](TensorDescs in, TensorDescs, void const* const* x, void* const* y, void*) {
        std::memcpy(
            y[0], x[0], static_cast<size_t>(volumeOf(in[0].dims) - (*chosen == 5 ? 1 : 0)) * elementSize(in[0].type));
        return 0;
    };
    Flexible shortTactic{behaviour};
    expectOnly(tenon::testing::check(shortTactic, usual()), "output-written", "PC2", "enqueue");
}

TEST_F(Check, L18_anOutputMayTakeOverAnInput)
{
    auto behaviour = std::make_shared<Behaviour>();
    behaviour->aliased = [](int32_t) { return 0; };
    behaviour->enqueue = [](TensorDescs in, TensorDescs, void const* const* inputs, void* const* outputs, void*) {
        auto* values = static_cast<char*>(outputs[0]);
        auto const bytes = volumeOf(in[0].dims) * static_cast<int64_t>(elementSize(in[0].type));
        for (int64_t i = 0; i < bytes; ++i)
            values[i] = static_cast<char>(values[i] ^ 1);
        return inputs[0] == outputs[0] ? 0 : 1;
    };
    FlexibleV2 sound{behaviour};
    EXPECT_TRUE(tenon::testing::check(sound, usual()));
}

TEST_F(Check, inputsCanBeFilled)
{
    auto behaviour = std::make_shared<Behaviour>();
    behaviour->supports = [](int32_t position, DynamicDescs descs) {
        return descs[position].desc.type == DataType::kHALF && descs[position].desc.format == TensorFormat::kLINEAR;
    };
    behaviour->enqueue = [](TensorDescs in, TensorDescs, void const* const* x, void* const* y, void*) {
        if (volumeOf(in[0].dims) > 0 && *static_cast<uint16_t const*>(x[0]) != 0x4400) // 4 as half.
            return 1;
        std::memcpy(y[0], x[0], static_cast<size_t>(volumeOf(in[0].dims)) * 2);
        return 0;
    };
    Flexible plugin{behaviour};
    Options options = usual();
    expectOnly(tenon::testing::check(plugin, options), "call-fails", "L21", "enqueue");
    options.fill = [](int32_t input, TenonCheckTensor const& contents) {
        if (contents.shape[0] > 0)
            static_cast<float*>(contents.data)[0] = 4.0F;
        return input == 0 && contents.type == static_cast<int32_t>(DataType::kFLOAT);
    };
    EXPECT_TRUE(tenon::testing::check(plugin, options));
}

// ---- errors, exceptions, crashes

struct Broken
{
    char const* callback;
    char const* rule;
};

TEST_F(Check, L21_L9_errorsReturnedByEachCallbackAreToldAndSurvived)
{
    for (Broken const& each : {Broken{"createPlugin", "L3"}, Broken{"clone", "L6"}, Broken{"attachToContext", "L7"},
             Broken{"configurePlugin", "L21"}, Broken{"getOutputDataTypes", "L9"}, Broken{"getOutputShapes", "L9"},
             Broken{"setTactic", "L21"}, Broken{"onShapeChange", "L21"}, Broken{"enqueue", "L21"},
             Broken{"getFieldsToSerialize", "L4"}})
    {
        SCOPED_TRACE(each.callback);
        expectOnly(checkWith<FaultyV3>(Fault::kReturnsError, each.callback), "call-fails", each.rule, each.callback);
    }
    for (Broken const& each :
        {Broken{"createPlugin", "PC8"}, Broken{"clone", "J7"}, Broken{"initialize", "J5"}, Broken{"enqueue", "J5"}})
    {
        SCOPED_TRACE(each.callback);
        expectOnly(checkWith<Dynamic>(Fault::kReturnsError, each.callback), "call-fails", each.rule, each.callback);
    }
    expectOnly(checkWith<Dynamic>(Fault::kReturnsError, "deserializePlugin"), "round-trip", "J15", "deserializePlugin");
}

TEST_F(Check, J5_L21_exceptionsOutOfEachCallbackAreToldAndSurvived)
{
    Options options = usual();
    options.isolated = true;
    for (char const* callback : {"createPlugin", "getPluginType", "getPluginVersion", "getPluginNamespace",
             "configurePlugin", "initialize", "clone", "supportsFormatCombination", "enqueue"})
    {
        SCOPED_TRACE(callback);
        Report const report = checkWith<Dynamic>(Fault::kThrows, callback, options);
        expectOnly(report, "throws", "J5", callback);
        EXPECT_NE(report.message().find(std::string{"thrown in "} + callback), std::string::npos) << report.message();
    }
    for (char const* callback : {"configurePlugin", "attachToContext", "getOutputShapes", "setTactic", "onShapeChange",
             "getFieldsToSerialize", "enqueue"})
    {
        SCOPED_TRACE(callback);
        expectOnly(checkWith<FaultyV3>(Fault::kThrows, callback, options), "throws", "L21", callback);
    }
}

TEST_F(Check, crashesAndEndlessCallsAreFindingsInChildProcesses)
{
    Options options = usual();
    options.isolated = true;
    expectOnly(checkWith<Dynamic>(Fault::kCrashes, {}, options), "crashes", "PC5", "enqueue");
    Report hung{{}, {}, {}};
    for (int32_t const seconds : {1, 5, 30}) // Where the machine itself stands still, other calls are late, too.
    {
        options.seconds = seconds;
        hung = checkWith<FaultyV3>(Fault::kHangs, {}, options);
        if (hung.has("hangs", "enqueue"))
            break;
    }
    expectOnly(hung, "hangs", "PC5", "enqueue");
}

TEST_F(Check, crashesAreFindingsWhereNobodyIsToldHowChildrenEnd)
{
    auto* const before = std::signal(SIGCHLD, SIG_IGN);
    Options options = usual();
    options.isolated = true;
    EXPECT_TRUE(checkWith<FaultyV3>(Fault::kNone, {}, options));
    expectOnly(checkWith<Dynamic>(Fault::kCrashes, {}, options), "crashes", "PC5", "enqueue");
    std::signal(SIGCHLD, before);
}

TEST_F(Check, callbacksThatEndTheProcessAreFindings)
{
    Options options = usual();
    options.isolated = true;
    expectOnly(checkWith<Dynamic>(Fault::kExits, {}, options), "ends-process", "PC5", "enqueue");
    Report const report = checkWith<FaultyV3>(Fault::kLeaves, {}, options);
    expectOnly(report, "ends-process", "PC5", "enqueue");
    EXPECT_NE(report.message().find("_exit(), with status 0"), std::string::npos) << report.message();
}

bool gIsForked{false};
//! Behind the check's own handler, and before LeakSanitizer's: in the child of a fork that would count what the other
//! threads, which are not there, held on their stacks.
[[maybe_unused]] int const kIsLeftEarly = std::atexit([] {
    if (gIsForked)
        std::_Exit(7);
});

//! A callback that starts a process, which ends by exit().
TEST_F(Check, childrenOfCallbacksEndAsTheyLike)
{
    auto behaviour = std::make_shared<Behaviour>();
    behaviour->enqueue = [](TensorDescs in, TensorDescs, void const* const* x, void* const* y, void*) {
        std::fflush(nullptr);
        pid_t const child = fork();
        if (child == 0)
        {
            gIsForked = true;
            std::exit(7);
        }
        int status{0};
        waitpid(child, &status, 0);
        std::memcpy(y[0], x[0], static_cast<size_t>(volumeOf(in[0].dims)) * elementSize(in[0].type));
        return WIFEXITED(status) && WEXITSTATUS(status) == 7 ? 0 : 1;
    };
    for (bool const isIsolated : {false, true})
    {
        Flexible plugin{behaviour};
        Options options = usual();
        options.types = {DataType::kFLOAT};
        options.isolated = isIsolated;
        EXPECT_TRUE(tenon::testing::check(plugin, options));
    }
}

using CheckDeathTest = Check;
TEST_F(CheckDeathTest, exitInThisProcessIsNoSuccess)
{
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        checkWith<FaultyV3>(Fault::kExits), testing::ExitedWithCode(1), "ended the process by exit.. in enqueue");
}

TEST_F(Check, whatCannotBeginSaysWhy)
{
    Options options;
    options.inputs = {tenon::testing::range({2, 3}, {1, 3}, {4, 3})};
    Report const report = checkWith<FaultyV3>(Fault::kNone, {}, options);
    EXPECT_FALSE(report);
    EXPECT_NE(report.message().find("goes from 2 over 1 to 4"), std::string::npos) << report.message();
}

} // namespace
} // namespace plugintest
