// Gather and scatter in their ONNX forms, and GridSample.
#include "../operators.h"

namespace tenon::onnx
{
namespace
{

using nvinfer1::GatherMode;
using nvinfer1::ScatterMode;

Outputs importGather(Node& node)
{
    Value const data = node.in(0);
    int32_t const axis = node.axis(node.intOr("axis", 0), data.rank());
    return {node.output(node.api().addGather(node.tensor(data), node.tensor(node.in(1)), axis), "gather")};
}

Outputs importGatherElements(Node& node)
{
    Value const data = node.in(0);
    nvinfer1::IGatherLayer* const layer =
        node.added(node.api().addGatherV2(node.tensor(data), node.tensor(node.in(1)), GatherMode::kELEMENT), "gather");
    layer->setGatherAxis(node.axis(node.intOr("axis", 0), data.rank()));
    return {layer->getOutput(0)};
}

Outputs importGatherNd(Node& node)
{
    nvinfer1::IGatherLayer* const layer =
        node.added(node.api().addGatherV2(node.tensor(node.in(0)), node.tensor(node.in(1)), GatherMode::kND), "gather");
    layer->setNbElementWiseDims(static_cast<int32_t>(node.intOr("batch_dims", 0)));
    return {layer->getOutput(0)};
}

void refuseReduction(Node const& node)
{
    std::string const reduction = node.stringOr("reduction", "none");
    if (reduction != "none")
    {
        fail(ErrorCode::kUNSUPPORTED_NODE_ATTR, fmt::format("{} with reduction '{}'", node.op(), reduction));
    }
}

nvinfer1::IScatterLayer* scatter(Node& node, ScatterMode mode)
{
    refuseReduction(node);
    return node.added(
        node.api().addScatter(node.tensor(node.in(0)), node.tensor(node.in(1)), node.tensor(node.in(2)), mode),
        "scatter");
}

Outputs importScatterElements(Node& node)
{
    nvinfer1::IScatterLayer* const layer = scatter(node, ScatterMode::kELEMENT);
    layer->setAxis(node.axis(node.intOr("axis", 0), node.in(0).rank()));
    return {layer->getOutput(0)};
}

Outputs importScatterNd(Node& node)
{
    return {scatter(node, ScatterMode::kND)->getOutput(0)};
}

template <typename Mode>
struct ModeName
{
    std::string_view name;
    Mode mode;
};

//! Opset 16 says bilinear and bicubic, opset 20 linear and cubic.
constexpr ModeName<nvinfer1::InterpolationMode> kInterpolations[]{
    {"bicubic", nvinfer1::InterpolationMode::kCUBIC},
    {"bilinear", nvinfer1::InterpolationMode::kLINEAR},
    {"cubic", nvinfer1::InterpolationMode::kCUBIC},
    {"linear", nvinfer1::InterpolationMode::kLINEAR},
    {"nearest", nvinfer1::InterpolationMode::kNEAREST},
};

constexpr ModeName<nvinfer1::SampleMode> kPaddings[]{
    {"border", nvinfer1::SampleMode::kCLAMP},
    {"reflection", nvinfer1::SampleMode::kREFLECT},
    {"zeros", nvinfer1::SampleMode::kFILL},
};

template <typename Mode, size_t N>
Mode modeOf(Node const& node, char const* attribute, char const* otherwise, ModeName<Mode> const (&names)[N])
{
    std::string const given = node.stringOr(attribute, otherwise);
    for (ModeName<Mode> const& name : names)
    {
        if (name.name == given)
        {
            return name.mode;
        }
    }
    fail(ErrorCode::kINVALID_NODE, fmt::format("{} with {} '{}'", node.op(), attribute, given));
}

Outputs importGridSample(Node& node)
{
    nvinfer1::InterpolationMode const interpolation = modeOf(node, "mode", "linear", kInterpolations);
    nvinfer1::SampleMode const padding = modeOf(node, "padding_mode", "zeros", kPaddings);
    nvinfer1::IGridSampleLayer* const layer =
        node.added(node.api().addGridSample(node.tensor(node.in(0)), node.tensor(node.in(1))), "gridsample");
    layer->setInterpolationMode(interpolation);
    layer->setSampleMode(padding);
    layer->setAlignCorners(node.intOr("align_corners", 0) != 0);
    return {layer->getOutput(0)};
}

constexpr Operator kGatherTable[]{
    {"Gather", importGather},
    {"GatherElements", importGatherElements},
    {"GatherND", importGatherNd},
    {"GridSample", importGridSample},
    {"Scatter", importScatterElements},
    {"ScatterElements", importScatterElements},
    {"ScatterND", importScatterNd},
};

} // namespace

constinit std::span<Operator const> const kGatherOperators{kGatherTable};

} // namespace tenon::onnx
