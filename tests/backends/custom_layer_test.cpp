// Custom layers apart from any device: what ports check and tell, launches of compiled kernels, which tables have them.
#include "backends/plugin/compiled.h"
#include "backends/plugin/plugin.h"
#include "backends/plugin/runner.h"
#include "backends/ref/ref.h"

#include <gmock/gmock.h>

namespace tenon::test
{

namespace
{
using plugins::LaunchOp;
using testing::ElementsAre;
using testing::HasSubstr;

TensorArg floats(std::vector<int64_t> extents)
{
    TensorArg arg;
    arg.extents = std::move(extents);
    arg.name = "t";
    return arg;
}

//! One input and one output of up to [4, 8].
custom::PluginPorts ports()
{
    custom::PluginPorts ports;
    ports.fields.type = "Pad";
    ports.inputs = 1;
    ports.outputs = 1;
    PluginPort port;
    port.most = {2, {4, 8}};
    ports.fields.ports = {port, port};
    return ports;
}

//! Grid x is the first extent of input 0, one argument is twice the second.
KernelSource sourceOf(Bytes const& fields, std::vector<WeightArg> weights, CodeArg const* code)
{
    KernelSource source{.kernel = "compiled_plugin", .args = {}, .weights = std::move(weights), .layer = "pad"};
    source.fields = fields;
    source.code = code;
    return source;
}

CustomLayer compiledPad()
{
    CustomLayer fields = ports().fields;
    plugins::CompiledKernel kernel;
    kernel.name = "pad";
    kernel.code = 0;
    kernel.launch.instructions = {{LaunchOp::kExtent, 0, 0}, {LaunchOp::kConstant, 1, 0}, {LaunchOp::kConstant, 0, 0},
        {LaunchOp::kExtent, 0, 1}, {LaunchOp::kAdd, 3, 3}};
    kernel.launch.results = {0, 1, 1, 1, 1, 1, 2, 4};
    fields.kernel = kernel;
    return fields;
}

Result<custom::CompiledLayer> loaded(CustomLayer fields, bool hasCode = true)
{
    Bytes const stored = makeLayer(std::move(fields))->stored();
    CodeArg const code{};
    return custom::CompiledLayer::load(sourceOf(stored, {{}}, hasCode ? &code : nullptr));
}

TEST(CustomLayerPorts, operandsBeyondWhatWasAgreedAreRefused)
{
    std::vector<TensorArg> const fit{floats({4, 8})};
    EXPECT_TRUE(ports().check(fit, fit));
    std::vector<TensorArg> const large{floats({4, 9})};
    auto const refused = ports().check(fit, large);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("extent 1 of tensor 't' is 9"));
    EXPECT_FALSE(ports().check(fit, {}));
}

TEST(CustomLayerPorts, L12_extentsThatOnlyRunningTellsAreUnknownToTheObject)
{
    custom::PluginPorts some = ports();
    some.fields.dataExtents = {{0, 1}};
    std::vector<TensorArg> const args{floats({2, 3})};
    plugins::Ports const told = some.at(args, args);
    ASSERT_EQ(told.all.size(), 2U);
    EXPECT_EQ(told.inputs, 1);
    EXPECT_EQ(told.all[0].desc.dims.d[1], 3);
    EXPECT_EQ(told.all[1].desc.dims.d[0], 2);
    EXPECT_EQ(told.all[1].desc.dims.d[1], -1);
}

TEST(CustomLayerPorts, anOutputTakesOverAllBytesOfItsInput)
{
    custom::PluginPorts some = ports();
    some.fields.aliases = {{0, 0}};
    std::vector<TensorArg> const args{floats({2, 3})};
    std::vector<custom::TakeOver> const all = some.takeOvers(args);
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].bytes, 2U * 3U * sizeof(float));
}

TEST(CompiledLayer, launchesFollowTheExtentsAtHand)
{
    auto const layer = loaded(compiledPad());
    ASSERT_TRUE(layer) << layer.error().message;
    std::vector<TensorArg> const args{floats({3, 7})};
    auto const launch = custom::launchOf(*layer, args, args);
    ASSERT_TRUE(launch) << launch.error().message;
    EXPECT_THAT(launch->grid, ElementsAre(3U, 1U, 1U));
    EXPECT_THAT(launch->block, ElementsAre(1U, 1U, 1U));
    EXPECT_THAT(launch->arguments, ElementsAre(14));
    EXPECT_FALSE(launch->isEmpty());
    std::vector<TensorArg> const none{floats({0, 7})};
    auto const empty = custom::launchOf(*layer, none, none);
    ASSERT_TRUE(empty) << empty.error().message;
    EXPECT_TRUE(empty->isEmpty());
    std::vector<TensorArg> const large{floats({5, 7})};
    EXPECT_FALSE(custom::launchOf(*layer, large, large));
}

TEST(CompiledLayer, aLaunchThatReadsWhatIsNotThereIsRefused)
{
    for (plugins::LaunchInstruction const& wrong :
        {plugins::LaunchInstruction{LaunchOp::kExtent, 1, 0}, plugins::LaunchInstruction{LaunchOp::kExtent, 0, 2},
            plugins::LaunchInstruction{LaunchOp::kAdd, 3, 4}, plugins::LaunchInstruction{LaunchOp::kAdd, -1, 0},
            plugins::LaunchInstruction{static_cast<LaunchOp>(99), 0, 0}})
    {
        CustomLayer fields = compiledPad();
        fields.kernel->launch.instructions[4] = wrong;
        EXPECT_FALSE(loaded(fields));
    }
    CustomLayer fields = compiledPad();
    fields.kernel->launch.results.resize(6);
    EXPECT_FALSE(loaded(fields)) << "a launch has seven numbers";
    EXPECT_TRUE(loaded(compiledPad()));
    EXPECT_FALSE(loaded(compiledPad(), false)) << "the step names no code";
}

TEST(CompiledLayer, codeForAnotherDeviceIsRefusedByName)
{
    CodeArg const code{.name = "kernel 'pad'", .form = CodeForm::kDeviceBinary, .target = "sm_90", .bytes = {}};
    auto const opened = custom::hostRunner().open(code, "pad");
    ASSERT_FALSE(opened);
    EXPECT_THAT(opened.error().message, HasSubstr("kernel 'pad' is a device binary for sm_90"));
}

TEST(CustomLayers, theOracleHasNoKernelsForThem)
{
    auto const isCustom = [](Candidate const& each) { return each.layer == CustomLayer::kName; };
    EXPECT_EQ(std::ranges::count_if(refCandidates(), isCustom), 0);
    EXPECT_EQ(std::ranges::count_if(pluginCandidates(), isCustom), 2);
    for (KernelEntry const& plugin : hostPluginKernels())
        for (KernelEntry const& reference : refKernels())
            EXPECT_NE(plugin.name, reference.name);
}

} // namespace

} // namespace tenon::test
