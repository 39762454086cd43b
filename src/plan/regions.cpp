// Regions: fences, and what may not be touched between them.
#include "plan/regions.h"

#include "plan/check.h"

#include <algorithm>
#include <unordered_map>

namespace tenon
{

std::vector<Region> regionsOf(Program const& program)
{
    std::vector<Region> regions;
    bool mustBegin{true};
    for (size_t i = 0; i < program.steps.size(); ++i)
    {
        PlanStep const& step = program.steps[i];
        auto const index = static_cast<int32_t>(i);
        if (mustBegin || step.isFence)
            regions.push_back({index, index, false});
        Region& region = regions.back();
        region.last = index + 1;
        region.isSplit = region.isSplit || step.stream != program.steps[static_cast<size_t>(region.first)].stream;
        mustBegin = !step.produces.empty();
    }
    return regions;
}

std::vector<int32_t> regionOfSteps(std::span<Region const> regions)
{
    std::vector<int32_t> of;
    for (size_t i = 0; i < regions.size(); ++i)
        of.insert(of.end(), static_cast<size_t>(regions[i].last - regions[i].first), static_cast<int32_t>(i));
    return of;
}

namespace
{
//! Who has touched a tensor's memory in the region at hand.
struct Touch
{
    int32_t stream{-1};
    bool isWritten{false};
    bool isShared{false}; //!< By several streams.
};

//! False: two streams touch the memory, and one of them writes.
bool add(Touch& touch, int32_t stream, bool writes)
{
    bool const isOther = touch.stream >= 0 && touch.stream != stream;
    touch.isShared = touch.isShared || isOther;
    touch.isWritten = touch.isWritten || writes;
    touch.stream = stream;
    return !touch.isShared || !touch.isWritten;
}

Result<Done> checkRegion(Program const& program, Region const& region)
{
    std::unordered_map<int32_t, Touch> touches; // By root.
    for (int32_t i = region.first; i < region.last; ++i)
    {
        PlanStep const& step = program.steps[static_cast<size_t>(i)];
        auto const addAll = [&](std::vector<int32_t> const& operands, bool writes) {
            return std::ranges::all_of(operands, [&](int32_t tensor) {
                return tensor < 0 || add(touches[rootOf(program, tensor)], step.stream, writes);
            });
        };
        bool fits = addAll(step.inputs, false) && addAll(step.outputs, true);
        for (auto const& [output, input] : step.inPlace)
            fits = fits && add(touches[rootOf(program, step.inputs[static_cast<size_t>(input)])], step.stream, true);
        if (!fits)
            return badArgument("step '{}' of stream {} touches memory of another stream's step with no fence between",
                step.name, step.stream);
    }
    return Done{};
}
} // namespace

Result<Done> checkStreams(Program const& program)
{
    for (PlanStep const& step : program.steps)
        if (step.stream < 0 || step.stream > kMaxAuxStreams)
            return badArgument("step '{}' runs on stream {}", step.name, step.stream);
        else if (!(step.cost >= 0.0F && step.cost < 1e15F))
            return badArgument("step '{}' costs {}", step.name, step.cost);
    for (Region const& region : regionsOf(program))
        if (region.isSplit)
            TENON_TRY(checkRegion(program, region));
    return Done{};
}

} // namespace tenon
