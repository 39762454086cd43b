// Mutated payloads of every stock plugin, through its creator: each is refused, or gives an object that answers every
// question, is stored and restored without change, and runs or refuses to. Run under AddressSanitizer.
//
// TENON_FUZZ_PLUGINS sets the number of mutations of each plugin (10,000), TENON_FUZZ_SEED the first seed.
#include "base/explanation.h"
#include "fuzz/payload_mutator.h"
#include "fuzz/stock_samples.h"
#include "fuzz/tally.h"
#include "plugins/driver.h"
#include "plugins/formats.h"
#include "support/device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tenon::test
{

namespace
{
using nvinfer1::Dims;
using plugins::Plugin;
using plugins::PluginPtr;
using plugins::Ports;
using plugins::builtin::StockPlugin;

using Extents = std::vector<int64_t>;

constexpr int64_t kMaxPluginBytes{1 << 20}; //!< Of one tensor.

std::unique_ptr<nvinfer1::IPluginCreatorInterface> creatorOf(StockPlugin const& plugin)
{
    return plugins::builtin::creatorOf(plugin, "");
}

PluginPtr made(Result<PluginPtr> plugin)
{
    return plugin ? *std::move(plugin) : nullptr;
}

PluginPtr create(StockPlugin const& plugin, nvinfer1::PluginFieldCollection const& fields)
{
    auto const creator = creatorOf(plugin);
    if (!plugin.isV3)
        return made(plugins::take(static_cast<nvinfer1::IPluginCreator&>(*creator).createPlugin("", &fields)));
    constexpr auto kPhase = nvinfer1::TensorRTPhase::kRUNTIME;
    auto& newer = static_cast<nvinfer1::IPluginCreatorV3One&>(*creator);
    return made(plugins::take(newer.createPlugin("", &fields, kPhase), kPhase));
}

//! As an engine does when it is loaded: null when the payload is refused.
PluginPtr restore(StockPlugin const& plugin, Bytes const& payload)
{
    if (plugin.isV3)
    {
        auto const fields = plugins::DecodedFields::decode(payload);
        return fields ? create(plugin, fields->collection()) : nullptr;
    }
    // Exactly as many bytes, so that AddressSanitizer sees one too many.
    auto const bytes = std::make_unique<uint8_t[]>(payload.size());
    std::copy(payload.begin(), payload.end(), bytes.get());
    auto const creator = creatorOf(plugin);
    auto& older = static_cast<nvinfer1::IPluginCreator&>(*creator);
    return made(plugins::take(older.deserializePlugin("", bytes.get(), payload.size())));
}

Bytes storedBy(Plugin& plugin)
{
    Result<Bytes> bytes = plugin.stored();
    EXPECT_TRUE(bytes) << bytes.error().message;
    return bytes ? *std::move(bytes) : Bytes{};
}

Dims dimsOf(Extents const& extents)
{
    Dims dims{static_cast<int32_t>(extents.size()), {}};
    std::ranges::copy(extents, dims.d);
    return dims;
}

plugins::Port portOf(Extents const& extents)
{
    plugins::Port port{};
    port.desc.dims = port.min = port.opt = port.max = dimsOf(extents);
    port.desc.scale = 1.0F;
    return port;
}

//! Asks one plugin for shapes, types and formats of random inputs, and runs it where it has taken them.
class Interrogation
{
  public:
    //! `configures` false: as an engine that was loaded, which leaves batchless plugins as they were stored.
    Interrogation(Plugin& plugin, PayloadMutator& random, bool configures = true)
        : mPlugin{plugin},
          mRandom{random},
          mConfigures{configures}
    {
    }

    //! True when it ran.
    bool ask(std::vector<Extents> const& inputs)
    {
        auto const outputs = outputsFor(inputs);
        if (!outputs)
            return false;
        Ports ports;
        ports.inputs = static_cast<int32_t>(inputs.size());
        for (Extents const& extents : inputs)
            ports.all.push_back(portOf(extents));
        for (Extents const& extents : *outputs)
            ports.all.push_back(portOf(extents));
        return negotiate(ports) && run(ports);
    }

    //! The sample with some extents changed, or inputs that have nothing to do with it.
    std::vector<Extents> randomInputs(std::vector<Extents> inputs)
    {
        if (mRandom.once(3))
        {
            inputs.resize(mRandom.below(8));
            for (Extents& extents : inputs)
                extents.resize(mRandom.below(Dims::MAX_DIMS + 1));
            for (Extents& extents : inputs)
                std::ranges::generate(extents, [&] { return static_cast<int64_t>(mRandom.below(5)); });
            return inputs;
        }
        for (uint64_t i = mRandom.below(3); i > 0 && !inputs.empty(); --i)
        {
            Extents& extents = inputs[mRandom.below(inputs.size())];
            if (mRandom.once(5))
                extents.resize(mRandom.below(Dims::MAX_DIMS + 1), 2);
            else if (!extents.empty())
                extents[mRandom.below(extents.size())] = static_cast<int64_t>(mRandom.below(9));
        }
        if (mRandom.once(8) && !inputs.empty())
            inputs.pop_back();
        return inputs;
    }

  private:
    //! None when the plugin refuses the inputs, or does not tell all extents.
    std::optional<std::vector<Extents>> outputsFor(std::vector<Extents> const& inputs)
    {
        std::vector<Shape> shapes;
        for (Extents const& extents : inputs)
            shapes.emplace_back(extents.begin(), extents.end());
        auto const answer = mPlugin.outputShapes(shapes, {}, {});
        if (!answer)
            return std::nullopt;
        std::vector<Extents> outputs;
        for (Shape const& shape : answer->shapes)
        {
            Extents& extents = outputs.emplace_back();
            for (ShapeExpr const& extent : shape)
            {
                if (!extent.isConstant() || *extent.constant() < 0)
                    return std::nullopt;
                extents.push_back(*extent.constant());
            }
        }
        return outputs;
    }

    bool negotiate(Ports& ports)
    {
        static_cast<void>(mPlugin.outputTypes(std::vector<DType>(static_cast<size_t>(ports.inputs), anyType())));
        plugins::PortOffer offer{"port", {}};
        for (int32_t type = 0; type <= static_cast<int32_t>(DType::kINT64); ++type)
            for (auto const format :
                {nvinfer1::TensorFormat::kHWC, nvinfer1::TensorFormat::kLINEAR, nvinfer1::TensorFormat::kCHW32})
                offer.choices.push_back({static_cast<DType>(type), format});
        std::ranges::shuffle(offer.choices, mRandom);
        std::vector<plugins::PortOffer> const offers(ports.all.size(), offer);
        auto const found = plugins::negotiate(mPlugin, ports, offers, 1);
        if (!found || found->empty())
            return false;
        ports = plugins::withCombination(ports, found->front());
        return true;
    }

    DType anyType()
    {
        return static_cast<DType>(mRandom.below(static_cast<uint64_t>(DType::kINT64) + 1));
    }

    bool run(Ports ports)
    {
        if (mRandom.once(12) && !ports.all.empty()) // What a plan that lies would say.
            lie(ports.all[mRandom.below(ports.all.size())].desc);
        std::vector<std::unique_ptr<DeviceArray<char>>> memory;
        std::vector<void*> addresses;
        for (plugins::Port const& port : ports.all)
        {
            Dims const& dims = port.desc.dims;
            auto const layout = plugins::layoutOf(port.desc.format);
            bool const isSound = layout && (*layout == Layout::kLinear || dims.nbDims == 4);
            int64_t const bytes =
                isSound ? bytesOf(port.desc.type, *layout, {dims.d, static_cast<size_t>(dims.nbDims)}) : -1;
            if (bytes < 0 || bytes > kMaxPluginBytes)
                return false;
            memory.push_back(std::make_unique<DeviceArray<char>>(static_cast<size_t>(bytes)));
            fill(port.desc.type, memory.back()->data(), static_cast<size_t>(bytes));
            addresses.push_back(memory.back()->data());
        }
        if (mConfigures)
            static_cast<void>(mPlugin.configure(ports));
        auto const wanted = mPlugin.workspace(ports);
        if (!wanted || *wanted > static_cast<size_t>(kMaxPluginBytes) || !mPlugin.initialize()
            || !mPlugin.reshape(ports))
            return false;
        DeviceArray<char> const workspace{*wanted};
        return static_cast<bool>(
            mPlugin.run({addresses.data(), addresses.data() + ports.inputs, workspace.data(), nullptr}));
    }

    void lie(nvinfer1::PluginTensorDesc& desc)
    {
        Dims& dims = desc.dims;
        if (mRandom.once(4))
            desc.scale = number<float>(true);
        else if (mRandom.once(3))
            dims.nbDims = static_cast<int32_t>(mRandom.below(Dims::MAX_DIMS + 1));
        else if (dims.nbDims > 0)
            dims.d[mRandom.below(static_cast<uint64_t>(dims.nbDims))] = static_cast<int64_t>(mRandom.below(9));
    }

    //! Numbers of sensible size most of the time, so that arithmetic is exercised; and indices within small extents.
    void fill(DType type, void* to, size_t bytes)
    {
        bool const isWild = mRandom.once(6);
        auto const put = [&]<typename T>(T) {
            for (size_t i = 0; i < bytes / sizeof(T); ++i)
                static_cast<T*>(to)[i] = number<T>(isWild);
        };
        switch (type)
        {
        case DType::kFLOAT: put(float{}); return;
        case DType::kINT32: put(int32_t{}); return;
        case DType::kINT64: put(int64_t{}); return;
        case DType::kHALF:
        case DType::kBF16: put(uint16_t{}); return; // Any bits are a number, or not a number.
        default: put(uint8_t{}); return;
        }
    }

    template <typename T>
    T number(bool isWild)
    {
        if (isWild && mRandom.once(3))
            return std::numeric_limits<T>::has_quiet_NaN && mRandom.once(2) ? std::numeric_limits<T>::quiet_NaN()
                : mRandom.once(2)                                           ? std::numeric_limits<T>::max()
                                                                            : std::numeric_limits<T>::lowest();
        if constexpr (std::is_floating_point_v<T>)
            return static_cast<T>(mRandom.below(4000)) / T{1000} - T{1};
        else if constexpr (sizeof(T) == sizeof(uint16_t))
            return static_cast<T>(isWild ? mRandom.below(65536) : 0x3000U + mRandom.below(0x1000U));
        else
            return static_cast<T>(mRandom.below(4));
    }

    Plugin& mPlugin;
    PayloadMutator& mRandom;
    bool mConfigures;
};

struct StockTally
{
    uint64_t mutations{0};
    uint64_t loaded{0};
    uint64_t ran{0};
};

void tryPayload(
    StockPlugin const& kind, StockSample const& sample, Bytes const& payload, PayloadMutator& random, StockTally& tally)
{
    ++tally.mutations;
    PluginPtr const plugin = restore(kind, payload);
    if (plugin == nullptr)
        return;
    ++tally.loaded;
    Bytes const stored = storedBy(*plugin);
    PluginPtr const copy = made(plugin->clone());
    ASSERT_NE(copy, nullptr);
    EXPECT_EQ(storedBy(*copy), stored);
    PluginPtr const again = restore(kind, stored);
    ASSERT_NE(again, nullptr) << "refuses what it has stored itself";
    EXPECT_EQ(storedBy(*again), stored);
    Interrogation interrogation{*copy, random, !kind.isBatchless || random.once(2)};
    bool ran = interrogation.ask(sample.inputs);
    for (int32_t i = 0; i < 2; ++i)
        ran = interrogation.ask(interrogation.randomInputs(sample.inputs)) || ran;
    tally.ran += ran ? 1 : 0;
}

Bytes soundPayload(StockPlugin const& kind, StockSample const& sample)
{
    std::vector<nvinfer1::PluginField> const fields = sample.pluginFields();
    PluginPtr const plugin = create(kind, {static_cast<int32_t>(fields.size()), fields.data()});
    EXPECT_NE(plugin, nullptr) << kind.name << " refuses its sample";
    return plugin == nullptr ? Bytes{} : storedBy(*plugin);
}

//! As a plan has it: of a plugin that was configured for the sample.
Bytes configuredPayload(StockPlugin const& kind, StockSample const& sample)
{
    Bytes const payload = soundPayload(kind, sample);
    if (!kind.isBatchless)
        return payload;
    for (uint32_t seed = 0; seed < 40; ++seed)
    {
        PayloadMutator random{seed};
        PluginPtr const plugin = restore(kind, payload);
        if (plugin != nullptr && Interrogation{*plugin, random}.ask(sample.inputs))
            return storedBy(*plugin);
    }
    ADD_FAILURE() << kind.name << " does not run its sample";
    return payload;
}

class StockPluginFuzz : public testing::TestWithParam<size_t>
{
  protected:
    static StockPlugin const& kind()
    {
        return plugins::builtin::allStockPlugins()[GetParam()];
    }
};

std::string nameOf(testing::TestParamInfo<size_t> const& info)
{
    StockPlugin const& plugin = plugins::builtin::allStockPlugins()[info.param];
    return std::string{plugin.name} + "_version" + plugin.version;
}

INSTANTIATE_TEST_SUITE_P(
    Every, StockPluginFuzz, testing::Range(size_t{0}, plugins::builtin::allStockPlugins().size()), nameOf);
} // namespace

TEST_P(StockPluginFuzz, soundSamplesRun)
{
    StockSample const* const sample = sampleOf(kind());
    ASSERT_NE(sample, nullptr) << kind().name << " has no row in stock_samples.cpp";
    Bytes const payload = soundPayload(kind(), *sample);
    int32_t ran{0};
    for (uint32_t seed = 0; seed < 40; ++seed)
    {
        PayloadMutator random{seed};
        PluginPtr const plugin = restore(kind(), payload);
        ASSERT_NE(plugin, nullptr);
        EXPECT_EQ(storedBy(*plugin), payload);
        ran += Interrogation{*plugin, random}.ask(sample->inputs) ? 1 : 0;
    }
    EXPECT_GT(ran, 4) << "of 40 runs on random values";
}

TEST_P(StockPluginFuzz, mutatedPayloadsAreRefusedOrRun)
{
    StockSample const* const sample = sampleOf(kind());
    ASSERT_NE(sample, nullptr) << kind().name << " has no row in stock_samples.cpp";
    uint64_t const count = numberFrom("TENON_FUZZ_PLUGINS", 10000);
    uint64_t const first = numberFrom("TENON_FUZZ_SEED", 0);
    auto const all = plugins::builtin::allStockPlugins();
    StockPlugin const& neighbour = all[(GetParam() + 1) % all.size()];
    StockSample const* const neighbours = sampleOf(neighbour);
    Bytes const other = neighbours == nullptr ? Bytes{} : soundPayload(neighbour, *neighbours);
    Bytes const payload = configuredPayload(kind(), *sample);
    StockTally tally;
    for (uint64_t i = first; i < first + count && !HasFatalFailure(); ++i)
    {
        PayloadMutator random{static_cast<uint32_t>(i)};
        tryPayload(kind(), *sample, random.mutated(payload, other), random, tally);
    }
    std::printf("%lu payloads, %lu loaded, %lu ran\n", tally.mutations, tally.loaded, tally.ran);
    EXPECT_EQ(tally.mutations, count);
    EXPECT_GT(tally.loaded * 20, count) << "some must load, or nothing is tested behind the fields";
    EXPECT_GT(tally.ran * 200, count);
}

} // namespace tenon::test
