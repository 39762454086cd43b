// CustomLayer: a plugin in a graph. The one layer whose rules are the user's: it asks the object behind it.
#pragma once

#include "ir/layer.h"
#include "layers/layer_table.h"
#include "layers/with_batch.h"
#include "plugins/ahead.h"

#include <array>

namespace tenon
{

//! What was agreed for one input or output.
struct PluginPort
{
    DType type{DType::kFLOAT};
    nvinfer1::TensorFormat format{nvinfer1::TensorFormat::kLINEAR};
    nvinfer1::Dims64 most{}; //!< The largest extents of all profiles; what the workspace is sized for.
    float scale{1.0F};       //!< What an int8 counts for 1.

    static constexpr auto fields()
    {
        return std::tuple{field(1, "Type", &PluginPort::type), field(2, "Format", &PluginPort::format),
            field(3, "Most", &PluginPort::most), field(4, "Scale", &PluginPort::scale)};
    }
};

//! Inputs are data, then shape inputs.
struct CustomLayer
{
    static constexpr std::string_view kName{"Plugin"};
    static constexpr size_t kMaxInputs{32}; //!< Shape inputs included: as many as a kernel's offer can mark.
    std::string type;
    std::string version;
    std::string nameSpace;
    plugins::Generation generation{plugins::Generation::kV3};
    int32_t shapeInputs{0}; //!< How many of the inputs only their values count of.
    bool isStronglyTyped{false};
    int32_t instance{0};           //!< No two layers of a network are the same, whatever they hold.
    std::vector<PluginPort> ports; //!< Data inputs, then outputs. Empty until agreed.
    std::vector<int32_t> sizeOutputs;
    std::vector<std::array<int32_t, 2>> dataExtents; //!< (output, axis) of extents that only running tells.
    std::vector<std::array<int32_t, 2>> aliases;     //!< (output, input): the output takes over the input's memory.
    int64_t workspace{0};
    int32_t tactic{0};
    Bytes stored;                                  //!< What the creator makes the object of again.
    std::optional<plugins::CompiledKernel> kernel; //!< What runs in place of the object, which no creator makes again.
    std::string metadata;                          //!< What the object says about itself, for inspectors (L20).

    //! The object while a network is built; not stored.
    std::shared_ptr<plugins::Plugin> live;

    static constexpr auto fields()
    {
        return std::tuple{field(1, "Type", &CustomLayer::type), field(2, "Version", &CustomLayer::version),
            field(3, "Namespace", &CustomLayer::nameSpace), field(4, "Generation", &CustomLayer::generation),
            field(5, "ShapeInputs", &CustomLayer::shapeInputs),
            field(6, "StronglyTyped", &CustomLayer::isStronglyTyped), field(7, "Instance", &CustomLayer::instance),
            field(8, "Ports", &CustomLayer::ports), field(9, "SizeOutputs", &CustomLayer::sizeOutputs),
            field(10, "DataExtents", &CustomLayer::dataExtents), field(11, "Aliases", &CustomLayer::aliases),
            field(12, "Workspace", &CustomLayer::workspace), field(13, "Tactic", &CustomLayer::tactic),
            field(14, "Stored", &CustomLayer::stored), field(15, "Kernel", &CustomLayer::kernel),
            field(16, "Metadata", &CustomLayer::metadata)};
    }

    plugins::Identity identity() const
    {
        return {type, version, nameSpace, generation};
    }
    //! Of data inputs; the rest are shape inputs.
    int32_t dataInputs(int32_t inputs) const noexcept
    {
        return inputs - shapeInputs;
    }

    //! Types: what the object answers, in weakly typed networks with reduced types counted as kFLOAT (K11), or those
    //! that were agreed. Shapes: the object's expressions.
    Result<std::vector<TensorType>> infer(Inputs const& in) const;
    //! The same without the types; `sizeOutputs` of the answer belong into the field.
    Result<plugins::OutputShapes> outputShapes(Inputs const& in) const;
    //! Types of data inputs as the object is told them.
    std::vector<DType> toldTypes(Inputs const& in) const;
    //! What the object answers to them, and to the ranks.
    Result<std::vector<DType>> outputTypes(Inputs const& in) const;
    Result<WithBatch> withBatch(SampleInputs const& samples) const;
    bool frontIsBatch() const noexcept
    {
        return plugins::isBatchless(generation);
    }
    bool lacksBatch(Inputs const& in) const;
    Result<Done> verify() const;
};

//! The type that a weakly typed network has a tensor of a plugin in.
inline constexpr DType weakType(DType type) noexcept
{
    return isFloating(type) || type == DType::kINT8 || type == DType::kFP8 ? DType::kFLOAT : type;
}

} // namespace tenon

TENON_LAYER(CustomLayer);
