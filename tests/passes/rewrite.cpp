// Before/after tests: parsing, random inputs, evaluation by the layers' references.
#include "passes/rewrite.h"

#include "ir/text.h"
#include "ir/verify.h"
#include "passes/runner.h"
#include "support/layer_text.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

namespace tenon::test
{

namespace
{
constexpr TextOptions kCompared{.types = false, .names = false};

//! Values for the symbols, within their ranges.
std::vector<int64_t> smallDifferentOnes(Graph const& graph)
{
    std::vector<int64_t> values;
    for (int32_t id = 0; id < graph.symbols().size(); ++id)
    {
        Range const range = graph.symbols().at(id).range;
        values.push_back(std::clamp<int64_t>(2 + id, range.min, range.max));
    }
    return values;
}

//! As small as may be, 0 mostly; when `even` is not given all symbols, else every second one.
std::vector<int64_t> smallestOnes(Graph const& graph, std::optional<bool> even)
{
    std::vector<int64_t> values = smallDifferentOnes(graph);
    for (int32_t id = 0; id < graph.symbols().size(); ++id)
        if (!even || *even == (id % 2 == 0))
            values[static_cast<size_t>(id)] = std::max<int64_t>(graph.symbols().at(id).range.min, 0);
    return values;
}

HostTensor randomInput(TensorType const& type, std::vector<int64_t> const& symbols, uint32_t seed)
{
    std::vector<int64_t> extents;
    for (ShapeExpr const& extent : type.shape)
        extents.push_back(extent.evaluate(symbols));
    HostTensor tensor{type.dtype, extents};
    std::mt19937 engine{seed};
    std::uniform_real_distribution<double> reals{-3.0, 3.0};
    for (int64_t i = 0; i < tensor.count(); ++i)
        if (isFloating(type.dtype))
            tensor.set(i, reals(engine));
        else
            tensor.setInteger(i, static_cast<int64_t>(engine() % 2));
    return tensor;
}

Result<std::vector<HostTensor>> evaluateGraph(Graph const& graph, std::vector<int64_t> const& symbols)
{
    std::map<ValueId, HostTensor> values;
    uint32_t seed{1};
    for (ValueId const input : graph.inputs())
        values[input] = randomInput(graph.typeOf(input), symbols, seed++);
    auto const find = [&](ValueId id) -> HostTensor const* {
        if (id == kNone)
            return nullptr;
        if (graph.constantOf(id) != nullptr)
            values.try_emplace(id, HostTensor::fromConstant(*graph.constantOf(id)));
        return &values.at(id);
    };
    for (NodeId const id : graph.order())
    {
        Node const& node = graph.node(id);
        HostTensors in;
        for (ValueId const input : node.inputs)
            in.push_back(find(input));
        std::vector<HostTensor> out = TENON_TRY(node.layer->reference(in));
        for (size_t i = 0; i < out.size(); ++i)
            values[node.outputs[i]] = std::move(out[i]);
    }
    std::vector<HostTensor> outputs;
    for (GraphOutput const& output : graph.outputs())
        outputs.push_back(*find(output.value));
    return outputs;
}

void expectSame(std::vector<HostTensor> const& a, std::vector<HostTensor> const& b)
{
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i)
    {
        ASSERT_EQ(a[i].extents, b[i].extents);
        for (int64_t k = 0; k < a[i].count(); ++k)
        {
            double const x = a[i].real(k);
            double const y = b[i].real(k);
            if (std::isnan(x) && std::isnan(y))
                continue;
            ASSERT_LE(std::abs(x - y), 1e-5 + 1e-5 * std::abs(x)) << "output " << i << ", element " << k;
        }
    }
}

//! What a graph gives for several values of its symbols; nothing where what it says of them cannot be done.
class Outputs
{
  public:
    explicit Outputs(Graph const& graph)
        : mSymbols{smallDifferentOnes(graph), smallestOnes(graph, std::nullopt), smallestOnes(graph, true),
            smallestOnes(graph, false)}
    {
        for (std::vector<int64_t> const& symbols : mSymbols)
            mWanted.push_back(evaluateGraph(graph, symbols));
        EXPECT_TRUE(mWanted.front()) << mWanted.front().error().message;
    }
    void compare(Graph const& rewritten) const
    {
        for (size_t i = 0; i < mSymbols.size(); ++i)
        {
            if (!mWanted[i])
                continue;
            Result<std::vector<HostTensor>> const got = evaluateGraph(rewritten, mSymbols[i]);
            ASSERT_TRUE(got) << got.error().message << " where the symbols are " << fmt::format("{}", mSymbols[i]);
            expectSame(*mWanted[i], *got);
        }
    }

  private:
    std::vector<std::vector<int64_t>> mSymbols;
    std::vector<Result<std::vector<HostTensor>>> mWanted;
};

Result<Done> run(Graph& graph, std::string_view rule, FusionLimits const& limits)
{
    OptimizeOptions options;
    options.verify = true;
    options.limits = limits;
    return rule.empty() ? optimize(graph, options) : optimizeWith(graph, rule, options);
}
} // namespace

FusionLimits generousLimits()
{
    TypeSet const types{DType::kFLOAT, DType::kHALF, DType::kBF16};
    return {.epilogueSteps = 4,
        .epilogueTypes = types,
        .attentionTypes = types,
        .gateTypes = types,
        .gateChannels = 4096,
        .imageTypes = types,
        .imageChannels = 4,
        .imageWindow = 8,
        .imageStride = 4,
        .imagePool = 4,
        .imagePatch = 8,
        .embeddingTypes = types,
        .embeddingWidth = 8192,
        .embeddingTerms = 4,
        .normalizedTypes = types,
        .normalizedRows = 256,
        .measuredRows = 256,
        .measuredColumns = 8192,
        .summedTypes = types,
        .summedStride = 8,
        .summedElements = int64_t{1} << 31,
        .projectionTypes = types,
        .int8Steps = 6,
        .quantizedTypes = {DType::kINT8, DType::kFP8},
        .quantizedResults = types,
        .weightOnlyTypes = {DType::kINT8, DType::kINT4},
        .pointwiseInputs = 8,
        .pointwiseOperations = 48};
}

Graph parsed(std::string_view text)
{
    Result<Graph> graph = parseGraph(text, parseLayer);
    if (!graph)
    {
        ADD_FAILURE() << graph.error().message;
        return Graph{};
    }
    Result<Done> const sound = verify(*graph);
    EXPECT_TRUE(sound) << sound.error().message;
    return *std::move(graph);
}

std::string normalForm(std::string_view text)
{
    return print(parsed(text), kCompared);
}

void expectRewrite(std::string_view rule, std::string_view before, std::string_view after, FusionLimits const& limits)
{
    Graph graph = parsed(before);
    Outputs const outputs{graph};
    Result<Done> const done = run(graph, rule, limits);
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(print(graph, kCompared), normalForm(after));
    outputs.compare(graph);
}

void expectSkipped(std::string_view rule, std::string_view before)
{
    Graph graph = parsed(before);
    Result<Done> const done = run(graph, rule, generousLimits());
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(print(graph, kCompared), normalForm(before));
}

void expectGone(std::string_view rule, std::string_view before, std::string_view kind, FusionLimits const& limits)
{
    Graph graph = parsed(before);
    Outputs const outputs{graph};
    Result<Done> const done = run(graph, rule, limits);
    ASSERT_TRUE(done) << done.error().message;
    for (NodeId const id : graph.order())
        EXPECT_NE(graph.node(id).layer->name(), kind) << print(graph, kCompared);
    outputs.compare(graph);
}

void expectUnchanged(std::string_view rule, std::string_view before, FusionLimits const& limits)
{
    expectRewrite(rule, before, before, limits);
}

} // namespace tenon::test
