// Symbols: lookup among the inputs, and values at a point of a profile.
#include "planner/symbols.h"

#include "base/real_op.h"
#include "planner/planner.h"

#include <algorithm>

namespace tenon
{

namespace
{
nvinfer1::Dims64 const& dimsAt(PlanProfileInput const& input, ProfilePoint point)
{
    return point == ProfilePoint::kMin ? input.min : point == ProfilePoint::kOpt ? input.opt : input.max;
}

std::vector<int64_t> const& valuesAt(PlanProfileInput const& input, ProfilePoint point)
{
    return point == ProfilePoint::kMin ? input.minValues
        : point == ProfilePoint::kOpt  ? input.optValues
                                       : input.maxValues;
}

Result<int64_t> valueAt(std::vector<PlanIO> const& io, PlanProfile const& profile, planner::InputPlace const& place,
    SymbolKind kind, ProfilePoint point)
{
    for (PlanProfileInput const& input : profile.inputs)
    {
        if (input.io != place.io)
            continue;
        if (kind == SymbolKind::kInputValue)
        {
            std::vector<int64_t> const& values = valuesAt(input, point);
            if (place.index < static_cast<int32_t>(values.size()))
                return values[static_cast<size_t>(place.index)];
        }
        else if (place.index < dimsAt(input, point).nbDims)
            return dimsAt(input, point).d[place.index];
    }
    std::string const& name = io[static_cast<size_t>(place.io)].name;
    return badConfig("[tensor '{}'] the profile gives no {} {}", name,
        kind == SymbolKind::kInputValue ? "value" : "extent", place.index);
}
} // namespace

Result<std::vector<int64_t>> symbolValues(
    Graph const& graph, PlanOptions const& options, size_t profile, ProfilePoint point)
{
    std::vector<int64_t> values(static_cast<size_t>(graph.symbols().size()), 0);
    for (int32_t id = 0; id < graph.symbols().size(); ++id)
    {
        Symbol const& symbol = graph.symbols().at(id);
        if (symbol.kind == SymbolKind::kData)
        {
            values[static_cast<size_t>(id)] = symbol.upper.evaluate(values);
            continue;
        }
        std::optional<planner::InputPlace> const place = planner::placeOf(graph, options.io, id);
        if (!place)
            continue; // Nothing that is left of the network depends on it.
        int64_t const value = TENON_TRY(valueAt(options.io, options.profiles.at(profile), *place, symbol.kind, point));
        values[static_cast<size_t>(id)] = symbol.isReal ? realBits(static_cast<double>(value)) : value;
    }
    return values;
}

namespace planner
{

int32_t findIO(std::vector<PlanIO> const& io, std::string_view name, bool isInput)
{
    for (size_t i = 0; i < io.size(); ++i)
        if (io[i].isInput == isInput && io[i].name == name)
            return static_cast<int32_t>(i);
    return -1;
}

std::optional<InputPlace> placeOf(Graph const& graph, std::vector<PlanIO> const& io, int32_t symbol)
{
    bool const isValue = graph.symbols().at(symbol).kind == SymbolKind::kInputValue;
    for (ValueId const input : graph.inputs())
    {
        Value const& value = graph.value(input);
        if (isValue && !value.contents)
            continue;
        Shape const& list = isValue ? *value.contents : value.type.shape;
        for (size_t i = 0; i < list.size(); ++i)
            if (list[i].asSymbol() == symbol)
                return InputPlace{findIO(io, value.name, true), static_cast<int32_t>(i)};
    }
    return std::nullopt;
}

namespace
{
//! Smallest and largest value over all profiles.
Result<Range> rangeOver(
    std::vector<PlanIO> const& io, std::vector<PlanProfile> const& profiles, InputPlace const& place, SymbolKind kind)
{
    Range range{INT64_MAX, INT64_MIN};
    for (PlanProfile const& profile : profiles)
    {
        range.min = std::min(range.min, TENON_TRY(valueAt(io, profile, place, kind, ProfilePoint::kMin)));
        range.max = std::max(range.max, TENON_TRY(valueAt(io, profile, place, kind, ProfilePoint::kMax)));
    }
    return range;
}
} // namespace

Result<std::vector<PlanSymbol>> planSymbols(Graph const& graph, std::vector<PlanIO> const& io,
    std::vector<PlanProfile> const& profiles, std::vector<bool> const& needed, std::vector<int32_t>& registers)
{
    std::vector<PlanSymbol> symbols;
    registers.assign(static_cast<size_t>(graph.symbols().size()), -1);
    for (int32_t id = 0; id < graph.symbols().size(); ++id)
    {
        if (!needed[static_cast<size_t>(id)])
            continue;
        Symbol const& from = graph.symbols().at(id);
        PlanSymbol symbol{.index = from.index, .min = from.range.min, .max = from.range.max, .name = from.name};
        if (from.kind == SymbolKind::kData)
            symbol.kind = PlanSymbolKind::kData;
        else
        {
            std::optional<InputPlace> const place = placeOf(graph, io, id);
            if (!place || place->io < 0)
                return errorOf(ErrorCode::kINTERNAL_ERROR, "no network input tells the extent '{}'", from.name);
            Range const range = TENON_TRY(rangeOver(io, profiles, *place, from.kind));
            symbol.kind =
                from.kind == SymbolKind::kInputValue ? PlanSymbolKind::kInputValue : PlanSymbolKind::kInputExtent;
            symbol.source = place->io;
            symbol.index = place->index;
            symbol.min = range.min;
            symbol.max = range.max;
        }
        registers[static_cast<size_t>(id)] = static_cast<int32_t>(symbols.size());
        symbols.push_back(std::move(symbol));
    }
    return symbols;
}

} // namespace planner

} // namespace tenon
