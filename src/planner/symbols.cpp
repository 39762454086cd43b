// Symbols: lookup among the inputs, and values at a point of a profile.
#include "planner/symbols.h"

#include "base/cancellation.h"
#include "base/real_op.h"
#include "plan/lookup.h"
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
    PlanProfileInput const* const input = boundsOf(profile, place.io);
    if (input != nullptr && kind == SymbolKind::kInputValue)
    {
        std::vector<int64_t> const& values = valuesAt(*input, point);
        if (place.index < static_cast<int32_t>(values.size()))
            return values[static_cast<size_t>(place.index)];
    }
    else if (input != nullptr && place.index < dimsAt(*input, point).nbDims)
        return dimsAt(*input, point).d[place.index];
    std::string const& name = io[static_cast<size_t>(place.io)].name;
    return badConfig("[tensor '{}'] the profile gives no {} {}", name,
        kind == SymbolKind::kInputValue ? "value" : "extent", place.index);
}
} // namespace

Result<std::vector<int64_t>> symbolValues(
    Graph const& graph, PlanOptions const& options, size_t profile, ProfilePoint point)
{
    std::vector<int64_t> values(static_cast<size_t>(graph.symbols().size()), 0);
    std::vector<std::optional<planner::InputPlace>> const places = planner::placesOfSymbols(graph, options.io);
    for (int32_t id = 0; id < graph.symbols().size(); ++id)
    {
        Symbol const& symbol = graph.symbols().at(id);
        if (symbol.kind == SymbolKind::kData)
        {
            values[static_cast<size_t>(id)] = symbol.upper.evaluate(values);
            continue;
        }
        std::optional<planner::InputPlace> const& place = places[static_cast<size_t>(id)];
        if (!place)
            continue; // Nothing that is left of the network depends on it.
        int64_t const value = TENON_TRY(valueAt(options.io, options.profiles.at(profile), *place, symbol.kind, point));
        values[static_cast<size_t>(id)] = symbol.isReal ? realBits(static_cast<double>(value)) : value;
    }
    return values;
}

namespace planner
{

BindingIndex::BindingIndex(std::vector<PlanIO> const& io)
{
    for (size_t i = 0; i < io.size(); ++i)
    {
        cancellationPoint();
        (io[i].isInput ? mInputs : mOutputs).try_emplace(io[i].name, static_cast<int32_t>(i));
    }
}

int32_t BindingIndex::input(std::string_view name) const
{
    auto const known = mInputs.find(name);
    return known == mInputs.end() ? -1 : known->second;
}

int32_t BindingIndex::output(std::string_view name) const
{
    auto const known = mOutputs.find(name);
    return known == mOutputs.end() ? -1 : known->second;
}

std::vector<std::optional<InputPlace>> placesOfSymbols(Graph const& graph, std::vector<PlanIO> const& io)
{
    BindingIndex const index{io};
    std::vector<std::optional<InputPlace>> places(static_cast<size_t>(graph.symbols().size()));
    auto const note = [&](Shape const& list, SymbolKind kind, std::string const& input) {
        for (size_t i = 0; i < list.size(); ++i)
        {
            std::optional<int32_t> const symbol = list[i].asSymbol();
            if (!symbol || graph.symbols().at(*symbol).kind != kind || places[static_cast<size_t>(*symbol)])
                continue;
            places[static_cast<size_t>(*symbol)] = InputPlace{index.input(input), static_cast<int32_t>(i)};
        }
    };
    for (ValueId const input : graph.inputs())
    {
        Value const& value = graph.value(input);
        note(value.type.shape, SymbolKind::kInputExtent, value.name);
        if (value.contents)
            note(*value.contents, SymbolKind::kInputValue, value.name);
    }
    return places;
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
    std::vector<std::optional<InputPlace>> const places = placesOfSymbols(graph, io);
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
            std::optional<InputPlace> const& place = places[static_cast<size_t>(id)];
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
