// Group L, the life of the objects: creation, capabilities, fields, clones, contexts.
#include "plugins/flexible_test.h"

namespace plugintest
{
namespace
{

using V3Objects = FlexibleTest<Flexible>;

TEST_F(V3Objects, L1_anObjectForRunningMayLackTheBuildCapability)
{
    registerCreator();
    ASSERT_NE(addTo(dims({-1, 3})), nullptr) << logger.errors();
    addProfile({1, 3}, {2, 3}, {5, 3});
    auto running = std::make_shared<Behaviour>(*behaviour);
    running->lacks = static_cast<int32_t>(PluginCapabilityType::kBUILD);
    creator->make = [&] { return new Flexible{running}; };
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    ASSERT_NE(context, nullptr) << logger.errors();
    runCopies(*context, dims({4, 3}));
}

TEST_F(V3Objects, L1_anObjectForRunningMayNotLackTheOthers)
{
    registerCreator();
    ASSERT_NE(addTo(dims({2, 3})), nullptr);
    std::unique_ptr<IHostMemory> const plan{builder->buildSerializedNetwork(*network, *config)};
    ASSERT_NE(plan, nullptr) << logger.errors();
    for (auto const lacks : {PluginCapabilityType::kCORE, PluginCapabilityType::kRUNTIME})
    {
        auto running = std::make_shared<Behaviour>(*behaviour);
        running->lacks = static_cast<int32_t>(lacks);
        creator->make = [&] { return new Flexible{running}; };
        EXPECT_EQ(runtime->deserializeCudaEngine(plan->data(), plan->size()), nullptr);
    }
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "has no capability"), 2) << logger.errors();
    network.reset();
    EXPECT_EQ(Journal::get().alive(), 0) << "refused objects are deleted, too";
}

TEST_F(V3Objects, L25_aCapabilityThatSaysItIsAnotherIsRefused)
{
    behaviour->confuses = true;
    EXPECT_EQ(addTo(dims({2, 3})), nullptr);
    EXPECT_NE(logger.errors().find("the plugin's capability PLUGIN_V3ONE_BUILD says it is 'PLUGIN_V3ONE_RUNTIME'"),
        std::string::npos)
        << logger.errors();
    EXPECT_EQ(Journal::get().count("clone"), 0) << "it is not even copied";
}

TEST_F(V3Objects, L2_namesAndCapabilitiesCanBeAskedAtAnyTime)
{
    behaviour->metadata = "about it";
    registerCreator();
    IPluginV3Layer* const layer = addTo(dims({2, 3}));
    ASSERT_NE(layer, nullptr);
    auto const ask = [&] {
        IPluginV3& plugin = layer->getPlugin();
        auto* const core = static_cast<IPluginV3OneCore*>(plugin.getCapabilityInterface(PluginCapabilityType::kCORE));
        auto* const build =
            static_cast<IPluginV3OneBuild*>(plugin.getCapabilityInterface(PluginCapabilityType::kBUILD));
        ASSERT_NE(core, nullptr);
        ASSERT_NE(build, nullptr);
        EXPECT_NE(plugin.getCapabilityInterface(PluginCapabilityType::kRUNTIME), nullptr);
        EXPECT_STREQ(core->getPluginName(), "Flexible");
        EXPECT_STREQ(core->getPluginVersion(), "1");
        EXPECT_STREQ(core->getPluginNamespace(), "");
        EXPECT_STREQ(build->getMetadataString(), "about it");
    };
    ask();
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    ask();
}

TEST_F(V3Objects, L3_theRuntimeMakesItsObjectOfExactlyTheStoredFields)
{
    std::vector<int32_t> const numbers{3, 1, 4};
    behaviour->fields = {{"numbers", numbers.data(), PluginFieldType::kINT32, 3}};
    registerCreator();
    creator->bytesOf = [](PluginField const& field) { return static_cast<size_t>(field.length) * 4; };
    ASSERT_NE(addTo(dims({2, 3})), nullptr);
    EXPECT_TRUE(creator->phases.empty()) << "for building, the user makes the object";
    std::unique_ptr<ICudaEngine> engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    EXPECT_EQ(creator->phases, std::vector<TensorRTPhase>{TensorRTPhase::kRUNTIME});
    ASSERT_EQ(creator->given.size(), 1U);
    auto const& given = creator->given.front();
    EXPECT_EQ(given.name, "numbers");
    EXPECT_EQ(given.type, PluginFieldType::kINT32);
    EXPECT_EQ(given.length, 3);
    EXPECT_EQ(std::memcmp(given.data.data(), numbers.data(), 12), 0);
    engine.reset();
    network.reset();
    EXPECT_EQ(Journal::get().alive(), 0) << "what the creator made is the library's";
}

//! Every type with its width in bits; kUNKNOWN is raw bytes.
std::vector<std::pair<PluginFieldType, size_t>> fieldTypes()
{
    return {{PluginFieldType::kFLOAT16, 16}, {PluginFieldType::kFLOAT32, 32}, {PluginFieldType::kFLOAT64, 64},
        {PluginFieldType::kINT8, 8}, {PluginFieldType::kINT16, 16}, {PluginFieldType::kINT32, 32},
        {PluginFieldType::kCHAR, 8}, {PluginFieldType::kDIMS, 8 * sizeof(Dims)}, {PluginFieldType::kUNKNOWN, 8},
        {PluginFieldType::kBF16, 16}, {PluginFieldType::kINT64, 64}, {PluginFieldType::kFP8, 8},
        {PluginFieldType::kINT4, 4}, {PluginFieldType::kFP4, 4}};
}

TEST_F(V3Objects, L4_fieldsOfEveryTypeAndLengthComeBack)
{
    auto const size = [](PluginField const& field) {
        for (auto const& [type, bits] : fieldTypes())
            if (type == field.type)
                return (static_cast<size_t>(field.length) * bits + 7) / 8;
        return size_t{0};
    };
    std::mt19937 random{5};
    std::vector<uint8_t> noise(10000);
    for (uint8_t& byte : noise)
        byte = static_cast<uint8_t>(random());
    std::vector<std::string> names;
    for (auto const& [type, bits] : fieldTypes())
        for (int32_t const length : {0, 1, 7})
            names.push_back(std::to_string(static_cast<int32_t>(type)) + " of " + std::to_string(length));
    size_t used{0};
    for (auto const& [type, bits] : fieldTypes())
        for (int32_t const length : {0, 1, 7})
        {
            PluginField field{names[behaviour->fields.size()].c_str(), nullptr, type, length};
            field.data = length == 0 ? nullptr : noise.data() + used; // Nothing needs no address.
            used += size(field);
            behaviour->fields.push_back(field);
        }
    ASSERT_LT(used, noise.size());
    registerCreator();
    creator->bytesOf = size;
    ASSERT_NE(addTo(dims({2, 3})), nullptr);
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    ASSERT_EQ(creator->given.size(), behaviour->fields.size());
    EXPECT_TRUE(creator->hadAddresses) << "fields of no elements have an address, too";
    for (size_t i = 0; i < creator->given.size(); ++i)
    {
        PluginField const& stored = behaviour->fields[i];
        auto const& given = creator->given[i];
        EXPECT_EQ(given.name, stored.name);
        EXPECT_EQ(given.type, stored.type) << stored.name;
        EXPECT_EQ(given.length, stored.length) << stored.name;
        ASSERT_EQ(given.data.size(), size(stored)) << stored.name;
        EXPECT_TRUE(given.data.empty() || std::memcmp(given.data.data(), stored.data, given.data.size()) == 0)
            << stored.name;
    }
}

TEST_F(V3Objects, L4_fieldsThatCannotBeStoredFailTheBuildByName)
{
    behaviour->fields = {{"bad", nullptr, PluginFieldType::kINT32, 2}};
    ASSERT_NE(addTo(dims({2, 3})), nullptr);
    std::string const said = buildFails();
    EXPECT_NE(said.find("field 'bad'"), std::string::npos) << said;
    EXPECT_NE(said.find("getFieldsToSerialize()"), std::string::npos) << said;
}

TEST_F(V3Objects, L5_objectsAreBornReadyAndEndWithTheirDestructor)
{
    registerCreator();
    ASSERT_NE(addTo(dims({2, 3})), nullptr);
    std::unique_ptr<ICudaEngine> engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    {
        std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
        int32_t const before = Journal::get().alive();
        runCopies(*context, dims({2, 3}));
        EXPECT_EQ(Journal::get().alive(), before) << "a run makes no objects";
    }
    engine.reset();
    network.reset();
    EXPECT_EQ(Journal::get().alive(), 0);
}

TEST_F(V3Objects, L6_aCloneThatLosesACapabilityIsRefused)
{
    auto less = std::make_shared<Behaviour>(*behaviour);
    less->lacks = static_cast<int32_t>(PluginCapabilityType::kRUNTIME);
    behaviour->clone = [&](IPluginV3&) { return new Flexible{less}; };
    EXPECT_EQ(addTo(dims({2, 3})), nullptr);
    EXPECT_NE(logger.errors().find("has no capability PLUGIN_V3ONE_RUNTIME"), std::string::npos) << logger.errors();
    EXPECT_EQ(Journal::get().alive(), 0);
}

TEST_F(V3Objects, L7_nullFromAttachFailsTheContextByName)
{
    registerCreator();
    ASSERT_NE(addTo(dims({2, 3})), nullptr);
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    behaviour->attach = [](IPluginV3&, IPluginResourceContext*) { return nullptr; };
    EXPECT_EQ(engine->createExecutionContext(), nullptr);
    EXPECT_NE(logger.errors().find("attachToContext() of plugin 'Flexible' version '1' namespace '' returned null"),
        std::string::npos)
        << logger.errors();
    EXPECT_NE(logger.errors().find("[layer 'flexible']"), std::string::npos) << logger.errors();
    behaviour->attach = nullptr;
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    ASSERT_NE(context, nullptr) << "the engine stays usable";
    runCopies(*context, dims({2, 3}));
}

TEST_F(V3Objects, L7_L8_eachContextHasAllocatorAndRecorderOfItsOwn)
{
    registerCreator();
    ASSERT_NE(addTo(dims({2, 3})), nullptr);
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    apitest::KeepingRecorder recorder;
    engine->setErrorRecorder(&recorder);
    std::vector<IPluginResourceContext*> contexts;
    std::vector<IGpuAllocator*> allocators;
    behaviour->attach = [&](IPluginV3&, IPluginResourceContext* resources) {
        contexts.push_back(resources);
        allocators.push_back(resources->getGpuAllocator());
        EXPECT_EQ(resources->getErrorRecorder(), &recorder);
        return new Flexible{behaviour};
    };
    apitest::KeepingRecorder other;
    {
        std::unique_ptr<IExecutionContext> const first{engine->createExecutionContext()};
        std::unique_ptr<IExecutionContext> const second{engine->createExecutionContext()};
        ASSERT_EQ(contexts.size(), 2U);
        EXPECT_NE(contexts[0], contexts[1]);
        EXPECT_NE(allocators[0], allocators[1]);
        for (size_t i = 0; i < 2; ++i)
        {
            ASSERT_NE(allocators[i], nullptr);
            EXPECT_EQ(contexts[i]->getGpuAllocator(), allocators[i]) << "valid as long as the context lives";
            void* const memory = allocators[i]->allocateAsync(100, 16, 0, apitest::stream());
            ASSERT_NE(memory, nullptr);
            EXPECT_TRUE(allocators[i]->deallocateAsync(memory, apitest::stream()));
        }
        engine->setErrorRecorder(nullptr);
        first->setErrorRecorder(nullptr);
        EXPECT_EQ(contexts[0]->getErrorRecorder(), nullptr) << "as the context's is now";
        EXPECT_EQ(contexts[1]->getErrorRecorder(), &recorder);
        first->setErrorRecorder(&other);
        EXPECT_EQ(contexts[0]->getErrorRecorder(), &other);
        first->setErrorRecorder(nullptr);
        EXPECT_EQ(other.references, 0);
    }
    EXPECT_EQ(recorder.references, 0);
    EXPECT_EQ(other.references, 0);
}

} // namespace
} // namespace plugintest
