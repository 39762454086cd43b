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

Outputs importGridSample(Node& node)
{
    nvinfer1::IGridSampleLayer* const layer =
        node.added(node.api().addGridSample(node.tensor(node.in(0)), node.tensor(node.in(1))), "gridsample");
    std::string const mode = node.stringOr("mode", "linear");
    std::string const padding = node.stringOr("padding_mode", "zeros");
    layer->setInterpolationMode(mode == "nearest"  ? nvinfer1::InterpolationMode::kNEAREST
            : mode == "cubic" || mode == "bicubic" ? nvinfer1::InterpolationMode::kCUBIC
                                                   : nvinfer1::InterpolationMode::kLINEAR);
    layer->setSampleMode(padding == "border" ? nvinfer1::SampleMode::kCLAMP
            : padding == "reflection"        ? nvinfer1::SampleMode::kREFLECT
                                             : nvinfer1::SampleMode::kFILL);
    layer->setAlignCorners(node.intOr("align_corners", 0) != 0);
    return {layer->getOutput(0)};
}

constexpr Operator kOperators[]{
    {"Gather", importGather},
    {"GatherElements", importGatherElements},
    {"GatherND", importGatherNd},
    {"GridSample", importGridSample},
    {"Scatter", importScatterElements},
    {"ScatterElements", importScatterElements},
    {"ScatterND", importScatterNd},
};

} // namespace

constinit std::span<Operator const> const kGatherOperators{kOperators};

} // namespace tenon::onnx
