// Layers in networks with implicit batch, each beside the same layer in an explicit one: what they make of a sample.
#include "api/fixture.h"

#include <cmath>
#include <cstring>
#include <functional>
#include <map>

namespace apitest
{
namespace
{

constexpr int32_t kMaxSamples{3};
constexpr uint32_t kExplicitBatch{1U << static_cast<uint32_t>(NetworkDefinitionCreationFlag::kEXPLICIT_BATCH)};

//! One input: extents of a sample. Integers lie within [0, below).
struct LayerPort
{
    char const* name;
    std::vector<int64_t> sample;
    int32_t below{0};

    size_t count(int64_t batch) const
    {
        int64_t all{batch};
        for (int64_t const extent : sample)
            all *= extent;
        return static_cast<size_t>(all);
    }
    DataType type() const
    {
        return below == 0 ? DataType::kFLOAT : DataType::kINT32;
    }
    //! 4 bytes each, whatever the type.
    std::vector<float> contents(int64_t batch) const
    {
        std::vector<float> values = randomFloats(count(batch), static_cast<uint32_t>(name[0]));
        for (size_t i = 0; below != 0 && i < values.size(); ++i)
        {
            auto const index = static_cast<int32_t>(std::abs(values[i]) * 1000.0F) % below;
            std::memcpy(&values[i], &index, sizeof(index));
        }
        return values;
    }
};

//! Adds the layer. `front`: axes that stand in front of a sample's.
using Add = std::function<ILayer*(INetworkDefinition& network, std::vector<ITensor*> const& inputs, int32_t front)>;

struct LayerCase
{
    char const* name;
    std::vector<LayerPort> inputs;
    std::vector<int64_t> output;
    Add add;
    //! It takes the rank of a sample, which it does not where the batch is explicit.
    bool isRefusedAlone{false};
};

//! Constants that live as long as the networks.
Weights floatsOf(size_t count)
{
    static std::map<size_t, std::vector<float>> kept;
    return weights(kept.try_emplace(count, randomFloats(count, static_cast<uint32_t>(count))).first->second);
}

ITensor& integers(INetworkDefinition& network, std::vector<int32_t> const& values, std::vector<int64_t> const& extents)
{
    static std::vector<std::unique_ptr<std::vector<int32_t>>> kept;
    kept.push_back(std::make_unique<std::vector<int32_t>>(values));
    Weights const given{DataType::kINT32, kept.back()->data(), static_cast<int64_t>(values.size())};
    return *network.addConstant(dims(extents), given)->getOutput(0);
}

using Inputs = std::vector<ITensor*> const&;

std::vector<LayerCase> imageCases()
{
    std::vector<LayerPort> const image{{"x", {4, 5, 6}}};
    return {
        {"Deconvolution", image, {6, 11, 13},
            [](INetworkDefinition& network, Inputs in, int32_t) {
                auto* const layer =
                    network.addDeconvolutionNd(*in[0], 6, dims({3, 3}), floatsOf(4 * 6 * 3 * 3), floatsOf(6));
                layer->setStrideNd(dims({2, 2}));
                return layer;
            },
            true},
        {"GroupedDeconvolution", image, {6, 6, 7},
            [](INetworkDefinition& network, Inputs in, int32_t) {
                auto* const layer =
                    network.addDeconvolutionNd(*in[0], 6, dims({2, 2}), floatsOf(4 * 3 * 2 * 2), floatsOf(6));
                layer->setNbGroups(2);
                return layer;
            },
            true},
        {"Padding", image, {4, 8, 9},
            [](INetworkDefinition& network, Inputs in, int32_t) {
                return network.addPaddingNd(*in[0], dims({1, 0}), dims({2, 3}));
            },
            true},
        {"LRN", image, {4, 5, 6},
            [](INetworkDefinition& network, Inputs in, int32_t) {
                return network.addLRN(*in[0], 3, 0.5F, 0.75F, 1.5F);
            },
            true},
    };
}

std::vector<LayerCase> axisCases()
{
    return {
        {"Squeeze", {{"x", {3, 1, 4, 1}}}, {3, 4},
            [](INetworkDefinition& network, Inputs in, int32_t front) {
                return network.addSqueeze(*in[0], integers(network, {1 + front, -1}, {2}));
            }},
        {"Unsqueeze", {{"x", {3, 4}}}, {1, 3, 4, 1},
            [](INetworkDefinition& network, Inputs in, int32_t front) {
                return network.addUnsqueeze(*in[0], integers(network, {front, -1}, {2}));
            }},
        {"SqueezeOfEmptySamples", {{"x", {3, 1, 0}}}, {3, 0},
            [](INetworkDefinition& network, Inputs in, int32_t front) {
                return network.addSqueeze(*in[0], integers(network, {1 + front}, {1}));
            }},
        {"ReshapeOfEmptySamples", {{"x", {3, 0}}}, {5, 0},
            [](INetworkDefinition& network, Inputs in, int32_t front) {
                auto* const layer = network.addShuffle(*in[0]);
                layer->setReshapeDimensions(front == 0 ? dims({5, 0}) : dims({0, 5, 0}));
                return layer;
            }},
        {"ScatterElements", {{"data", {4, 3}}, {"at", {2, 3}, 4}, {"updates", {2, 3}}}, {4, 3},
            [](INetworkDefinition& network, Inputs in, int32_t front) {
                auto* const layer = network.addScatter(*in[0], *in[1], *in[2], ScatterMode::kELEMENT);
                layer->setAxis(front);
                return layer;
            }},
        {"OneHotInFront", {{"x", {3, 2}, 5}}, {5, 3, 2},
            [](INetworkDefinition& network, Inputs in, int32_t front) {
                ITensor& values = *network.addConstant(dims({2}), floatsOf(2))->getOutput(0);
                return network.addOneHot(*in[0], values, integers(network, {5}, {}), front);
            }},
        {"OneHotBehind", {{"x", {3, 2}, 5}}, {3, 2, 5},
            [](INetworkDefinition& network, Inputs in, int32_t) {
                ITensor& values = *network.addConstant(dims({2}), floatsOf(2))->getOutput(0);
                return network.addOneHot(*in[0], values, integers(network, {5}, {}), -1);
            }},
        {"ReverseSequence", {{"x", {3, 4, 2}}}, {3, 4, 2},
            [](INetworkDefinition& network, Inputs in, int32_t front) {
                auto* const layer = network.addReverseSequence(*in[0], integers(network, {4, 1, 3}, {3}));
                layer->setBatchAxis(front);
                layer->setSequenceAxis(front + 1);
                return layer;
            }},
    };
}

std::vector<LayerCase> layerCases()
{
    std::vector<LayerCase> all = imageCases();
    std::vector<LayerCase> const more = axisCases();
    all.insert(all.end(), more.begin(), more.end());
    return all;
}

class LayersOfSamples : public ApiTest, public ::testing::WithParamInterface<LayerCase>
{
  protected:
    ILayer* add(bool isExplicit)
    {
        network.reset(builder->createNetworkV2(isExplicit ? kExplicitBatch : 0));
        std::vector<ITensor*> inputs;
        for (LayerPort const& port : GetParam().inputs)
        {
            std::vector<int64_t> shape = port.sample;
            if (isExplicit)
                shape.insert(shape.begin(), -1);
            inputs.push_back(network->addInput(port.name, port.type(), dims(shape)));
        }
        ILayer* const layer = GetParam().add(*network, inputs, isExplicit ? 1 : 0);
        if (layer == nullptr)
            return nullptr;
        layer->setName("the layer");
        layer->getOutput(0)->setName("y");
        network->markOutput(*layer->getOutput(0));
        return layer;
    }
    void addBatchProfile()
    {
        IOptimizationProfile* const profile = builder->createOptimizationProfile();
        for (LayerPort const& port : GetParam().inputs)
            for (auto const& [select, batch] : {std::pair{OptProfileSelector::kMIN, 1},
                     {OptProfileSelector::kOPT, kMaxSamples}, {OptProfileSelector::kMAX, kMaxSamples}})
                ASSERT_TRUE(profile->setDimensions(port.name, select, shapeOf(port, batch)));
        ASSERT_GE(config->addOptimizationProfile(profile), 0);
    }
    static Dims shapeOf(LayerPort const& port, int64_t batch)
    {
        std::vector<int64_t> shape = port.sample;
        shape.insert(shape.begin(), batch);
        return dims(shape);
    }
    //! What y is for this batch. `run` gets the addresses in the order of inputs and output.
    using Run = std::function<bool(std::vector<void*> const& bindings)>;
    std::vector<float> outputOf(int64_t batch, Run const& run)
    {
        std::vector<DeviceArray<float>> memory;
        for (LayerPort const& port : GetParam().inputs)
            memory.emplace_back(port.contents(batch));
        memory.emplace_back(LayerPort{"y", GetParam().output}.count(batch));
        std::vector<void*> bindings;
        for (DeviceArray<float> const& each : memory)
            bindings.push_back(each.data());
        EXPECT_TRUE(run(bindings)) << logger.errors();
        return memory.back().read();
    }
};

TEST_P(LayersOfSamples, S7_anImplicitBatchGivesTheSameAsAnExplicitOne)
{
    builder->setMaxBatchSize(kMaxSamples);
    ILayer const* const layer = add(false);
    ASSERT_NE(layer, nullptr) << logger.errors();
    EXPECT_EQ(extents(layer->getOutput(0)->getDimensions()), GetParam().output);
    std::unique_ptr<ICudaEngine> const implicit = buildEngine();
    ASSERT_NE(implicit, nullptr);
    EXPECT_TRUE(implicit->hasImplicitBatchDimension());
    ASSERT_NE(add(true), nullptr) << logger.errors();
    addBatchProfile();
    std::unique_ptr<ICudaEngine> const full = buildEngine();
    ASSERT_NE(full, nullptr);
    std::unique_ptr<IExecutionContext> const old{implicit->createExecutionContext()};
    std::unique_ptr<IExecutionContext> const byName{full->createExecutionContext()};
    for (int32_t batch = 1; batch <= kMaxSamples; ++batch)
    {
        auto const want = outputOf(batch, [&](std::vector<void*> const& bindings) {
            bool isSet{true};
            for (size_t i = 0; i < GetParam().inputs.size(); ++i)
                isSet = isSet && byName->setInputShape(GetParam().inputs[i].name, shapeOf(GetParam().inputs[i], batch));
            return isSet && byName->executeV2(bindings.data());
        });
        auto const got =
            outputOf(batch, [&](std::vector<void*> const& bindings) { return old->execute(batch, bindings.data()); });
        ASSERT_EQ(got.size(), want.size());
        EXPECT_EQ(std::memcmp(got.data(), want.data(), got.size() * sizeof(float)), 0) << "batch " << batch;
    }
    EXPECT_FALSE(old->execute(kMaxSamples + 1, std::vector<void*>(GetParam().inputs.size() + 1).data()));
}

TEST_P(LayersOfSamples, C15_withoutAMaxBatchSizeTheRankOfASampleIsRefusedByName)
{
    ASSERT_NE(add(false), nullptr) << logger.errors();
    std::unique_ptr<IHostMemory> const plan{builder->buildSerializedNetwork(*network, *config)};
    EXPECT_EQ(plan == nullptr, GetParam().isRefusedAlone) << logger.errors();
    if (!GetParam().isRefusedAlone)
        return;
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "[layer 'the layer'] "), 1) << logger.errors();
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "setMaxBatchSize"), 1) << logger.errors();
}

std::string nameOfCase(::testing::TestParamInfo<LayerCase> const& info)
{
    return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(ImplicitBatch, LayersOfSamples, ::testing::ValuesIn(layerCases()), nameOfCase);

} // namespace
} // namespace apitest
