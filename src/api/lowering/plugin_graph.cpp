// addPlugin: bounds of all ports over the profiles, negotiation, casts, and what the plan stores.
#include "api/lowering/plugin_graph.h"

#include "api/lowering/stock_layers.h"
#include "backends/plugin/plugin.h"
#include "layers/cast.h"
#include "layers/shape.h"
#include "layers/slice.h"
#include "planner/planner.h"
#include "plugins/formats.h"
#include "plugins/timing.h"

#include <algorithm>
#include <cmath>

namespace tenon::api
{

namespace
{
using nvinfer1::TensorFormat;
using plugins::Port;
using plugins::PortChoice;
using plugins::PortOffer;
using plugins::Ports;

//! Bounds of all extents: an extent may shrink where another grows, so that those at kMIN and kMAX are none.
std::pair<nvinfer1::Dims64, nvinfer1::Dims64> dimsWithin(Shape const& shape, SymbolTable const& bounds)
{
    std::pair<nvinfer1::Dims64, nvinfer1::Dims64> dims{plugins::dimsOf(shape), plugins::dimsOf(shape)};
    for (int32_t i = 0; i < dims.first.nbDims; ++i)
    {
        Range const range = shape[static_cast<size_t>(i)].range(bounds);
        dims.first.d[i] = std::max<int64_t>(range.min, 0);
        dims.second.d[i] = std::max<int64_t>(range.max, 0);
    }
    return dims;
}

//! What an int8 of the tensor counts for 1: with a range, its ends are ±127.
float int8ScaleOf(Tensor const* tensor)
{
    if (tensor == nullptr || !tensor->dynamicRangeIsSet())
        return 1.0F;
    float const end = std::max(std::abs(tensor->getDynamicRangeMin()), std::abs(tensor->getDynamicRangeMax()));
    return end / 127.0F > 0.0F ? end / 127.0F : 1.0F;
}

//! One custom layer on its way into the graph.
class PluginWriter
{
  public:
    PluginWriter(
        NetworkGraph& network, PluginLayer const& layer, std::vector<ValueId> inputs, GraphRequest const& request)
        : mGraph{network.graph},
          mNetwork{network},
          mRequest{request},
          mFields{layer.fields()},
          mName{layer.name()},
          mInputs{std::move(inputs)},
          mData{static_cast<size_t>(mFields.dataInputs(static_cast<int32_t>(mInputs.size())))}
    {
        for (int32_t i = 0; i < layer.outputCount(); ++i)
        {
            mOutputNames.push_back(layer.output(i).name());
            mOutputScales.push_back(int8ScaleOf(&layer.output(i)));
        }
        for (Tensor const* const tensor : layer.inputs())
            mInputScales.push_back(int8ScaleOf(tensor));
    }

    Result<std::vector<ValueId>> write()
    {
        auto written = writeUnnamed();
        std::string const label = fmt::format("[layer '{}']", mName);
        if (!written && !written.error().message.starts_with(label))
            return std::move(written).error().in(label);
        return written;
    }

  private:
    Result<std::vector<ValueId>> writeUnnamed()
    {
        TENON_TRY(copyForSamples());
        TENON_TRY(findShapes());
        std::vector<Ports> const profiles = TENON_TRY(portsOfProfiles());
        plugins::Combination const agreed = TENON_TRY(agree(profiles.front()));
        std::vector<Ports> chosen;
        for (Ports const& ports : profiles)
            chosen.push_back(plugins::withCombination(ports, agreed));
        plugins::Finished finished = TENON_TRY(plugins::finish(*mFields.live, chosen,
            {.mayAlias = mRequest.mayAlias,
                .tactic = mTactic,
                .dataExtents = mFields.dataExtents,
                .maxWorkspace = mRequest.maxWorkspace}));
        fill(agreed, chosen, std::move(finished));
        if (mFields.live->isAhead())
            TENON_TRY(compileKernel(chosen.front()));
        note();
        return place(chosen.front());
    }

    //! Inputs with one entry for the whole batch, where the object takes none (J19).
    Result<Done> copyForSamples()
    {
        std::vector<Shape> shapes;
        for (size_t i = 0; i < mData; ++i)
            shapes.push_back(mGraph.typeOf(mInputs[i]).shape);
        for (size_t const i : plugins::unshareable(*mFields.live, shapes))
        {
            auto const whole = std::ranges::find_if(
                shapes, [](Shape const& shape) { return !shape.empty() && shape.front() != ShapeExpr{1}; });
            std::string const tensor = mGraph.value(mInputs[i]).name;
            mInputs[i] = TENON_TRY(copied(i, mInputs[static_cast<size_t>(whole - shapes.begin())]));
            mNetwork.decisions.push_back({"plugin", mName,
                fmt::format(
                    "input {} (tensor '{}') has one entry for the whole batch and is copied for each sample: {}", i,
                    tensor,
                    mFields.generation == plugins::Generation::kV2
                        ? "generation V2 shares no inputs"
                        : fmt::format("canBroadcastInputAcrossBatch({}) answers false", i))});
        }
        return Done{};
    }

    //! As often as `whole` has samples: from the one entry, with a stride of 0.
    Result<ValueId> copied(size_t input, ValueId whole)
    {
        std::string const name = fmt::format("{} input {} for each sample", mName, input);
        Slice repeat;
        repeat.start = {1, {0}};
        repeat.stride = {1, {0}};
        repeat.axes = {1, {0}};
        std::vector<ValueId> operands{mInputs[input]};
        if (std::optional<int64_t> const batch = mGraph.typeOf(whole).shape.front().constant())
            repeat.size = {1, {*batch}};
        else
        {
            Slice first;
            first.start = {1, {0}};
            first.size = {1, {1}};
            ValueId const extents = TENON_TRY(added(makeLayer(tenon::ShapeLayer{}), name + ": extents", {whole}));
            operands.insert(
                operands.end(), {kNone, TENON_TRY(added(makeLayer(first), name + ": how many", {extents}))});
        }
        return added(makeLayer(repeat), name, std::move(operands));
    }

    Result<ValueId> added(LayerPtr layer, std::string name, std::vector<ValueId> inputs)
    {
        return mGraph.node(TENON_TRY(mGraph.addNode(std::move(layer), std::move(name), std::move(inputs)))).output();
    }

    //! Shapes of outputs, with symbols of a table of its own for what only running tells.
    Result<Done> findShapes()
    {
        mSymbols = mGraph.symbols();
        mKnownSymbols = mSymbols.size();
        Inputs const in{mGraph.viewsOf(mInputs), mName, &mSymbols, 1 << 27};
        plugins::OutputShapes found = TENON_TRY(mFields.outputShapes(in));
        mFields.sizeOutputs = std::move(found.sizeOutputs);
        mSizeOptima = std::move(found.sizeOptima);
        mOutputShapes = std::move(found.shapes);
        mOutputTypes = TENON_TRY(mFields.outputTypes(in));
        mToldTypes = mFields.toldTypes(in);
        if (mOutputTypes.size() != mOutputShapes.size() || mOutputShapes.size() != mOutputNames.size())
            return badConfig("plugin {} had {} outputs when it was added, and now has {}", mFields.identity().show(),
                mOutputNames.size(), mOutputShapes.size());
        for (size_t i = 0; i < mOutputShapes.size(); ++i)
            for (size_t axis = 0; axis < mOutputShapes[i].size(); ++axis)
            {
                std::vector<int32_t> const symbols = mOutputShapes[i][axis].symbols();
                if (!symbols.empty() && symbols.back() >= mKnownSymbols)
                    mFields.dataExtents.push_back({static_cast<int32_t>(i), static_cast<int32_t>(axis)});
            }
        return Done{};
    }

    Result<std::vector<int64_t>> valuesAt(size_t profile, ProfilePoint point) const
    {
        PlanOptions options;
        options.io = mNetwork.io;
        options.profiles = mNetwork.profiles;
        std::vector<int64_t> values = TENON_TRY(symbolValues(mGraph, options, profile, point));
        for (int32_t id = mKnownSymbols; id < mSymbols.size(); ++id)
        {
            Symbol const& size = mSymbols.at(id);
            auto const index = static_cast<size_t>(size.index);
            bool const isOptimum = point == ProfilePoint::kOpt && index < mSizeOptima.size();
            values.push_back((isOptimum ? mSizeOptima[index] : size.upper).evaluate(values));
        }
        return values;
    }

    //! All symbols with the values that a profile allows.
    SymbolTable boundsOf(std::span<int64_t const> least, std::span<int64_t const> most) const
    {
        SymbolTable bounds = mSymbols;
        for (int32_t id = 0; id < bounds.size(); ++id)
        {
            auto const at = static_cast<size_t>(id);
            Symbol& symbol = bounds.at(id);
            symbol.range = {least[at], most[at]};
            if (symbol.kind == SymbolKind::kData) // Only running tells: none at all, or the bound.
                symbol.range = {0, symbol.upper.range(bounds).max};
        }
        return bounds;
    }

    //! What is too large at the least extents is so in every run.
    Result<Done> checkLeast(size_t output, nvinfer1::Dims64 const& lowest, size_t profile) const
    {
        for (int32_t axis = 0; axis < lowest.nbDims; ++axis)
            if (lowest.d[axis] > kMaxTensorElements)
                return badConfig("output {} of plugin {} has the extent {} or more on axis {} in profile {}: no tensor "
                                 "is so large",
                    output, mFields.identity().show(), lowest.d[axis], axis, profile);
        return Done{};
    }

    Result<std::vector<Ports>> portsOfProfiles() const
    {
        std::vector<Shape const*> shapes;
        for (size_t i = 0; i < mData; ++i)
            shapes.push_back(&mGraph.typeOf(mInputs[i]).shape);
        for (Shape const& shape : mOutputShapes)
            shapes.push_back(&shape);
        std::vector<Ports> all;
        for (size_t profile = 0; profile < mNetwork.profiles.size(); ++profile)
        {
            std::vector<int64_t> const least = TENON_TRY(valuesAt(profile, ProfilePoint::kMin));
            std::vector<int64_t> const best = TENON_TRY(valuesAt(profile, ProfilePoint::kOpt));
            std::vector<int64_t> const most = TENON_TRY(valuesAt(profile, ProfilePoint::kMax));
            SymbolTable const bounds = boundsOf(least, most);
            Ports ports;
            ports.inputs = static_cast<int32_t>(mData);
            for (Shape const* shape : shapes)
            {
                auto const [lowest, highest] = dimsWithin(*shape, bounds);
                if (ports.all.size() >= mData)
                    TENON_TRY(checkLeast(ports.all.size() - mData, lowest, profile));
                ports.all.push_back({{plugins::dimsOf(*shape), DType::kFLOAT, TensorFormat::kLINEAR, -1.0F}, lowest,
                    highest, plugins::dimsAt(*shape, best)});
            }
            all.push_back(std::move(ports));
        }
        return all;
    }

    std::vector<DType> typesFor(DType type, bool isSize) const
    {
        std::vector<DType> types{type};
        if (mFields.isStronglyTyped || isSize)
            return types;
        if (type == DType::kFLOAT && mRequest.mayUseHalf)
            types.push_back(DType::kHALF);
        if (type == DType::kFLOAT && mRequest.mayUseBF16)
            types.push_back(DType::kBF16);
        if (type == DType::kINT64)
            types.push_back(DType::kINT32);
        return types;
    }

    //! Types and formats that may stand at a port whose tensor the network has in `type`.
    std::vector<PortChoice> choicesFor(DType type, int32_t rank, float scale, bool isSize) const
    {
        if (type == DType::kBOOL || type == DType::kUINT8)
            return {}; // Never offered to plugins (J3, L22).
        std::vector<PortChoice> choices;
        for (DType const offered : typesFor(type, isSize))
            for (TensorFormat const format : plugins::formatsOf(mFields.generation, offered, rank))
                choices.push_back({offered, format, scale});
        return choices;
    }

    DType networkType(DType answered) const
    {
        return mFields.isStronglyTyped ? answered : weakType(answered);
    }

    Result<plugins::Combination> agree(Ports const& ports)
    {
        std::vector<PortOffer> offers;
        for (size_t i = 0; i < mData; ++i)
        {
            Value const& value = mGraph.value(mInputs[i]);
            offers.push_back({fmt::format("input {} (tensor '{}')", i, value.name),
                choicesFor(mToldTypes[i], value.type.rank(), mInputScales.at(i), false)});
        }
        for (size_t i = 0; i < mOutputTypes.size(); ++i)
        {
            bool const isSize = std::ranges::count(mFields.sizeOutputs, static_cast<int32_t>(i)) != 0;
            offers.push_back({fmt::format("output {} (tensor '{}')", i, mOutputNames[i]),
                choicesFor(networkType(mOutputTypes[i]), static_cast<int32_t>(mOutputShapes[i].size()),
                    mOutputScales.at(i), isSize)});
        }
        plugins::StepOf const stepOf =
            mRequest.timedOn == nullptr ? nullptr : timedStepOf(*mRequest.timedOn, *mFields.live);
        bool const isTimed = stepOf != nullptr && !mFields.live->isAhead(); // What is compiled runs later.
        size_t const most = isTimed ? SIZE_MAX : 1;
        std::vector<plugins::Combination> found = TENON_TRY(plugins::negotiate(*mFields.live, ports, offers, most));
        if (!isTimed)
            return std::move(found.front());
        plugins::TimingOptions timing;
        timing.device = mRequest.timedOn;
        timing.stepOf = stepOf;
        timing.average = mRequest.averageRuns;
        timing.least = mRequest.minRuns;
        timing.mayAlias = mRequest.mayAlias;
        timing.dataExtents = mFields.dataExtents;
        timing.maxWorkspace = mRequest.maxWorkspace;
        timing.known = mRequest.knownTimes;
        plugins::Fastest fastest = TENON_TRY(plugins::fastest(*mFields.live, ports, found, timing));
        mTactic = fastest.tactic;
        mTimes = std::move(fastest.table);
        return std::move(found[fastest.combination]);
    }

    void fill(plugins::Combination const& agreed, std::vector<Ports> const& profiles, plugins::Finished finished)
    {
        for (size_t i = 0; i < agreed.size(); ++i)
        {
            PluginPort port{agreed[i].type, agreed[i].format, profiles.front().all[i].max, agreed[i].scale};
            for (Ports const& ports : profiles)
                for (int32_t axis = 0; axis < port.most.nbDims; ++axis)
                    port.most.d[axis] = std::max(port.most.d[axis], ports.all[i].max.d[axis]);
            mFields.ports.push_back(port);
        }
        mFields.workspace = finished.workspace;
        mFields.tactic = finished.tactic;
        mFields.stored = std::move(finished.stored);
        mFields.metadata = std::move(finished.metadata);
        for (auto const& [output, input] : finished.aliases)
            mFields.aliases.push_back({output, input});
        mTactics = finished.tactics.size();
    }

    //! What runs in place of the object goes into the plan, equal code once.
    Result<Done> compileKernel(Ports const& ports)
    {
        std::vector<Shape> shapes;
        for (size_t i = 0; i < mData; ++i)
            shapes.push_back(mGraph.typeOf(mInputs[i]).shape);
        plugins::Compiled compiled =
            TENON_TRY(plugins::compileAhead(*mFields.live, shapes, ports, mFields.tactic, mRequest.device));
        Sha256 const digest = sha256(compiled.object);
        auto at = std::ranges::find(mNetwork.code, digest, &PlanCode::sha256);
        if (at == mNetwork.code.end())
        {
            auto const object = std::make_shared<Bytes const>(std::move(compiled.object));
            at = mNetwork.code.insert(at,
                {.name = fmt::format("plugin {}, kernel '{}'", mFields.identity().show(), compiled.kernel.name),
                    .form = compiled.kernel.form,
                    .target = mRequest.architecture,
                    .sha256 = digest,
                    .bytes = object->size(),
                    .data = object->data(),
                    .owner = object});
        }
        compiled.kernel.code = static_cast<int32_t>(at - mNetwork.code.begin());
        mFields.kernel = std::move(compiled.kernel);
        return Done{};
    }

    void note()
    {
        std::string text;
        for (size_t i = 0; i < mFields.ports.size(); ++i)
            text += fmt::format("{}{}{}",
                i == mData   ? " -> "
                    : i == 0 ? ""
                             : ", ",
                nameOf(mFields.ports[i].type),
                mFields.ports[i].format == TensorFormat::kLINEAR
                    ? ""
                    : fmt::format(" {}", plugins::nameOf(mFields.ports[i].format)));
        mNetwork.decisions.push_back({"plugin", mName,
            fmt::format("{} ({}): {}; {} bytes of workspace; {}", mFields.identity().show(),
                plugins::nameOf(mFields.generation), text, mFields.workspace,
                mTactics == 0 ? "no tactics of its own" : fmt::format("tactic {} of {}", mFields.tactic, mTactics))});
        if (!mTimes.empty())
            mNetwork.decisions.push_back({"timing", mName, mTimes});
    }

    //! The node, or layers that do its work, behind casts of its inputs and before casts of its outputs.
    Result<std::vector<ValueId>> place(Ports const& ports)
    {
        for (size_t i = 0; i < mData; ++i)
            if (mGraph.typeOf(mInputs[i]).dtype != mFields.ports[i].type)
                mInputs[i] = TENON_TRY(cast(mInputs[i], mFields.ports[i].type, fmt::format("input {}", i)));
        std::vector<ValueId> outputs = TENON_TRY(written(ports));
        for (size_t i = 0; i < outputs.size(); ++i)
        {
            DType const wanted = networkType(mOutputTypes[i]);
            if (mGraph.typeOf(outputs[i]).dtype != wanted)
                outputs[i] = TENON_TRY(cast(outputs[i], wanted, fmt::format("output {}", i)));
        }
        return outputs;
    }

    Result<std::vector<ValueId>> written(Ports const& ports)
    {
        std::optional<StockLayers> layers = TENON_TRY(addStockLayers(mGraph, {*mFields.live, mName, ports, mInputs}));
        if (layers)
            mNetwork.decisions.push_back({"plugin", mName,
                layers->why.empty() ? "layers do its work" : fmt::format("stays a plugin: {}", layers->why)});
        if (layers && layers->why.empty())
            return std::move(layers->outputs);
        needObject();
        return mGraph.node(TENON_TRY(mGraph.addNode(makeLayer(mFields), mName, mInputs))).outputs;
    }

    //! Whoever loads the plan needs a creator; not of what is compiled into it.
    void needObject()
    {
        PlanPlugin plugin{
            mFields.type, mFields.version, mFields.nameSpace, {}, std::string{plugins::nameOf(mFields.generation)}};
        if (mRequest.registry != nullptr)
            plugin.library = mRequest.registry->libraryOf(plugin.name, plugin.version, plugin.nameSpace);
        bool const isKnown = std::ranges::any_of(mNetwork.plugins, [&](PlanPlugin const& each) {
            return each.name == plugin.name && each.version == plugin.version && each.nameSpace == plugin.nameSpace;
        });
        if (!isKnown && !mFields.live->isAhead())
            mNetwork.plugins.push_back(std::move(plugin));
    }

    Result<ValueId> cast(ValueId value, DType to, std::string const& what)
    {
        return added(makeLayer(Cast{to}), fmt::format("{} cast of {}", mName, what), {value});
    }

    Graph& mGraph;
    NetworkGraph& mNetwork;
    GraphRequest const& mRequest;
    CustomLayer mFields;
    std::string mName;
    std::vector<ValueId> mInputs;
    size_t mData;
    std::vector<std::string> mOutputNames;
    std::vector<float> mInputScales;
    std::vector<float> mOutputScales;
    SymbolTable mSymbols;
    int32_t mKnownSymbols{0};
    std::vector<Shape> mOutputShapes;
    std::vector<ShapeExpr> mSizeOptima;
    std::vector<DType> mOutputTypes;
    std::vector<DType> mToldTypes;
    size_t mTactics{0};
    std::optional<int32_t> mTactic; //!< Chosen by time.
    std::string mTimes;
};
} // namespace

Result<std::vector<ValueId>> addPlugin(
    NetworkGraph& network, PluginLayer const& layer, std::vector<ValueId> inputs, GraphRequest const& request)
{
    return PluginWriter{network, layer, std::move(inputs), request}.write();
}

} // namespace tenon::api
