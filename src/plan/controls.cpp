// Controls: their nesting.
#include "plan/controls.h"

#include "base/result.h"

namespace tenon
{

namespace
{
//! Whether the inner one lies within one of the outer one's parts.
bool isWithin(PlanControl const& inner, PlanControl const& outer)
{
    return (inner.first >= outer.first && inner.last <= outer.middle)
        || (inner.first >= outer.middle && inner.last <= outer.last);
}
} // namespace

Result<Done> checkControls(Program const& program)
{
    constexpr size_t kMaxNameBytes{1 << 16};
    auto const steps = static_cast<int64_t>(program.steps.size());
    std::vector<int32_t> open;
    for (size_t i = 0; i < program.controls.size(); ++i)
    {
        PlanControl const& control = program.controls[i];
        bool const isRange = control.first >= 0 && control.first <= control.middle && control.middle <= control.last
            && control.first < control.last && control.last <= steps;
        if (control.kind > PlanControlKind::kConditional || !isRange || control.name.size() > kMaxNameBytes)
            return badArgument("control {} has an unknown kind, or steps [{}, {}, {}) that there are not", i,
                control.first, control.middle, control.last);
        if (control.kind == PlanControlKind::kLoop && control.condition == -1 && control.count == -1)
            return badArgument("nothing ends loop '{}'", control.name);
        while (!open.empty() && program.controls[static_cast<size_t>(open.back())].last <= control.first)
            open.pop_back();
        if (!open.empty() && !isWithin(control, program.controls[static_cast<size_t>(open.back())]))
            return badArgument("controls '{}' and '{}' overlap",
                program.controls[static_cast<size_t>(open.back())].name, control.name);
        if (i > 0 && program.controls[i - 1].first > control.first)
            return badArgument("control '{}' stands behind a later one", control.name);
        open.push_back(static_cast<int32_t>(i));
        if (static_cast<int32_t>(open.size()) > kMaxControlDepth)
            return badArgument("controls lie more than {} deep within each other", kMaxControlDepth);
    }
    return Done{};
}

std::vector<int32_t> nextControls(Program const& program)
{
    auto const count = static_cast<int32_t>(program.controls.size());
    std::vector<int32_t> next(program.controls.size());
    for (int32_t i = 0; i < count; ++i)
    {
        int32_t behind = i + 1;
        while (behind < count
            && program.controls[static_cast<size_t>(behind)].first < program.controls[static_cast<size_t>(i)].last)
            ++behind;
        next[static_cast<size_t>(i)] = behind;
    }
    return next;
}

} // namespace tenon
