// What makePlan is asked for in tests: I/O and one profile from the ranges of a graph's symbols.
#pragma once

#include "ir/text.h"
#include "planner/planner.h"
#include "support/layer_text.h"

#include <gtest/gtest.h>

namespace tenon::test
{

inline nvinfer1::Dims64 dimsOf(TensorType const& type, SymbolTable const& symbols, int32_t point)
{
    nvinfer1::Dims64 dims{};
    dims.nbDims = type.rank();
    for (int32_t i = 0; i < dims.nbDims; ++i)
    {
        ShapeExpr const& extent = type.shape[static_cast<size_t>(i)];
        Range const range = extent.range(symbols);
        bool const isStatic = extent.isConstant();
        dims.d[i] = isStatic ? *extent.constant()
            : point < 0      ? -1
            : point == 0     ? range.min
            : point == 1     ? (range.min + range.max) / 2
                             : range.max;
    }
    return dims;
}

//! I/O and one profile from the ranges of the symbols.
inline PlanOptions optionsFor(Graph const& graph)
{
    PlanOptions options;
    options.networkName = "net";
    PlanProfile profile;
    for (ValueId const input : graph.inputs())
    {
        TensorType const& type = graph.typeOf(input);
        profile.inputs.push_back({static_cast<int32_t>(options.io.size()), dimsOf(type, graph.symbols(), 0),
            dimsOf(type, graph.symbols(), 1), dimsOf(type, graph.symbols(), 2)});
        PlanIO io{.name = graph.value(input).name, .dtype = type.dtype, .dims = dimsOf(type, graph.symbols(), -1)};
        for (ShapeExpr const& extent : type.shape)
            io.dimensionNames.push_back(extent.asSymbol() ? graph.symbols().at(*extent.asSymbol()).name : "");
        options.io.push_back(std::move(io));
    }
    for (GraphOutput const& output : graph.outputs())
    {
        TensorType const& type = graph.typeOf(output.value);
        options.io.push_back(
            {.name = output.name, .isInput = false, .dtype = type.dtype, .dims = dimsOf(type, graph.symbols(), -1)});
    }
    options.profiles.push_back(std::move(profile));
    return options;
}

//! What the planner makes of a graph, given as text.
inline Result<Plan> planOfText(std::string_view text, Backend const& backend, Target const& target)
{
    Result<Graph> const graph = parseGraph(text, parseLayer);
    EXPECT_TRUE(graph) << graph.error().message;
    return graph ? makePlan(*graph, backend, target, optionsFor(*graph)) : graph.error();
}

} // namespace tenon::test
