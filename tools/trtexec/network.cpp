// Network: what the options change in it before it is built.
#include "builder.h"

#include <optional>
#include <stdexcept>

namespace tenon::trtexec
{

using namespace nvinfer1;

namespace
{
//! Ranges that the program of this name makes up where nobody has said which real numbers int8 stands for: times are
//! measured all the same.
constexpr float kRangeOfInputs{2.0F};
constexpr float kRangeOfOutputs{4.0F};

//! Its Quantize layers say what int8 stands for.
bool quantizesItself(INetworkDefinition const& network)
{
    for (int32_t i = 0; i < network.getNbLayers(); ++i)
        if (LayerType const type = network.getLayer(i)->getType();
            type == LayerType::kQUANTIZE || type == LayerType::kDEQUANTIZE)
            return true;
    return false;
}

bool isReal(ITensor const* tensor)
{
    if (tensor == nullptr)
        return false;
    switch (tensor->getType())
    {
    case DataType::kFLOAT:
    case DataType::kHALF:
    case DataType::kBF16:
    case DataType::kFP8:
    case DataType::kFP4: return true;
    default: return false;
    }
}

//! What int8 stands for, where the network does not say it.
class Ranges
{
  public:
    Ranges(bool areMissing, CacheCalibrator const* cache, Log const& log)
        : mAreMissing{areMissing},
          mCache{cache},
          mLog{log}
    {
    }
    void give(ITensor& tensor, bool isInput) const
    {
        if (!mAreMissing || !isReal(&tensor) || tensor.dynamicRangeIsSet())
            return;
        if (mCache != nullptr)
            if (std::optional<float> const known = mCache->reachOf(tensor.getName());
                known && tensor.setDynamicRange(-*known, *known))
                return;
        float const madeUp = isInput ? kRangeOfInputs : kRangeOfOutputs;
        if (tensor.setDynamicRange(-madeUp, madeUp))
            mLog.warn(
                text("Tensor '%s' is int8, and the model does not say for which real numbers: taken for those from %g "
                     "to %g. Times are right, results are not",
                    tensor.getName(), -madeUp, madeUp));
    }

  private:
    bool mAreMissing;
    CacheCalibrator const* mCache;
    Log const& mLog;
};

//! Once for all tensors, or one for each.
void applyFormats(INetworkDefinition& network, std::vector<IoFormat> const& formats, bool isInput, Ranges const& ranges)
{
    if (formats.empty())
        return;
    char const* const flag = isInput ? "--inputIOFormats" : "--outputIOFormats";
    auto const count = static_cast<size_t>(isInput ? network.getNbInputs() : network.getNbOutputs());
    if (formats.size() != 1 && formats.size() != count)
        throw std::invalid_argument(
            text("%s has %zu formats; the model has %zu %s: give one format for all, or one each", flag, formats.size(),
                count, isInput ? "inputs" : "outputs"));
    for (size_t i = 0; i < count; ++i)
    {
        auto const index = static_cast<int32_t>(i);
        ITensor& tensor = isInput ? *network.getInput(index) : *network.getOutput(index);
        IoFormat const& format = formats.size() == 1 ? formats.front() : formats[i];
        if (format.type == DataType::kINT8) // In front of the type: int8 without a range is refused where it is read.
            ranges.give(tensor, isInput);
        tensor.setType(format.type);
        if (tensor.getType() != format.type)
            throw std::invalid_argument(std::string{flag} + ": tensor '" + tensor.getName()
                + "' does not take the type " + typeText(format.type));
        tensor.setAllowedFormats(format.formats);
    }
}

//! Whether it computes real numbers. The rest of a network is arithmetic of shapes, indices and truth values, which
//! `*` does not mean, as in the program of this name.
bool hasRealOutput(ILayer const& layer)
{
    for (int32_t i = 0; i < layer.getNbOutputs(); ++i)
        if (isReal(layer.getOutput(i)))
            return true;
    return false;
}

//! Calls `set` with the last entry that fits, and whether it names the layer as it is, for each layer; warns of entries
//! that fit none.
template <typename Value, typename Set>
void forLayers(
    INetworkDefinition& network, ByName<Value> const& entries, char const* flag, Log const& log, Set const& set)
{
    std::vector<bool> isUsed(entries.size(), false);
    for (int32_t i = 0; i < network.getNbLayers() && !entries.empty(); ++i)
    {
        ILayer& layer = *network.getLayer(i);
        std::pair<std::string, Value> const* last{nullptr};
        for (size_t at = 0; at < entries.size(); ++at)
            if (fits(entries[at].first, layer.getName()))
            {
                isUsed[at] = true;
                last = &entries[at];
            }
        if (last != nullptr)
            set(layer, last->second, last->first == layer.getName());
    }
    for (size_t at = 0; at < entries.size(); ++at)
        if (!isUsed[at])
            log.warn(std::string{flag} + ": the network has no layer '" + entries[at].first + "'");
}

void applyLayerTypes(INetworkDefinition& network, BuildOptions const& build, Log const& log)
{
    forLayers(network, build.layerPrecisions, "--layerPrecisions", log, [](ILayer& layer, DataType type, bool isNamed) {
        if (isNamed || hasRealOutput(layer))
            layer.setPrecision(type);
    });
    forLayers(network, build.layerOutputTypes, "--layerOutputTypes", log,
        [](ILayer& layer, std::vector<DataType> const& types, bool isNamed) {
            if (!isNamed && !hasRealOutput(layer))
                return;
            auto const outputs = static_cast<size_t>(layer.getNbOutputs());
            if (types.size() != 1 && types.size() != outputs)
                throw std::invalid_argument(text(
                    "--layerOutputTypes: layer '%s' has %zu outputs, not %zu", layer.getName(), outputs, types.size()));
            for (size_t i = 0; i < outputs; ++i)
                if (isNamed || isReal(layer.getOutput(static_cast<int32_t>(i))))
                    layer.setOutputType(static_cast<int32_t>(i), types.size() == 1 ? types.front() : types[i]);
        });
}

void applyAttentions(INetworkDefinition& network, BuildOptions const& build, Log const& log)
{
    ByName<bool> names;
    for (std::string const& name : build.decomposableAttentions)
        names.emplace_back(name, true);
    int32_t found{0};
    forLayers(network, names, "--decomposableAttentions", log, [&](ILayer& layer, bool, bool) {
        if (layer.getType() != LayerType::kATTENTION_INPUT)
            return;
        ++found;
        if (IAttention* attention = static_cast<IAttentionInputLayer&>(layer).getAttention();
            attention == nullptr || !attention->setDecomposable(true))
            throw std::runtime_error(std::string{"attention '"} + layer.getName() + "' could not be made decomposable");
    });
    if (!names.empty() && found == 0)
        log.warn("--decomposableAttentions has no effect: the network has no such attention");
}

void markDebugTensors(INetworkDefinition& network, BuildOptions const& build)
{
    std::vector<bool> isFound(build.debugTensors.size(), false);
    auto const mark = [&](ITensor* tensor) {
        for (size_t i = 0; tensor != nullptr && i < isFound.size(); ++i)
            if (build.debugTensors[i] == tensor->getName() && !isFound[i])
            {
                isFound[i] = true;
                if (!network.markDebug(*tensor))
                    throw std::runtime_error(std::string{"tensor '"} + tensor->getName() + "' could not be marked");
            }
    };
    for (int32_t i = 0; i < network.getNbInputs(); ++i)
        mark(network.getInput(i));
    for (int32_t i = 0; i < network.getNbLayers(); ++i)
        for (int32_t k = 0; k < network.getLayer(i)->getNbOutputs(); ++k)
            mark(network.getLayer(i)->getOutput(k));
    for (size_t i = 0; i < isFound.size(); ++i)
        if (!isFound[i])
            throw std::invalid_argument("--markDebug: the network has no tensor '" + build.debugTensors[i] + "'");
    if (build.hasUnfusedDebugTensors && !network.markUnfusedTensorsAsDebugTensors())
        throw std::runtime_error("unfused tensors could not be marked as debug tensors");
}
} // namespace

void applyToNetwork(INetworkDefinition& network, IBuilderConfig& config, BuildOptions const& build,
    CacheCalibrator const* cache, Log const& log)
{
    Ranges const ranges{!build.isStronglyTyped && !quantizesItself(network), cache, log};
    applyFormats(network, build.inputFormats, true, ranges);
    applyFormats(network, build.outputFormats, false, ranges);
    bool const hasConstraints = config.getFlag(BuilderFlag::kOBEY_PRECISION_CONSTRAINTS)
        || config.getFlag(BuilderFlag::kPREFER_PRECISION_CONSTRAINTS);
    if (hasConstraints)
        applyLayerTypes(network, build, log);
    forLayers(network, build.layerDevices, "--layerDeviceTypes", log,
        [&](ILayer& layer, DeviceType kind, bool) { config.setDeviceType(&layer, kind); });
    applyAttentions(network, build, log);
    markDebugTensors(network, build);
}

} // namespace tenon::trtexec
