// CodeTable: equal code is found by its digest.
#include "planner/code_table.h"

#include <algorithm>

namespace tenon::planner
{

Result<int32_t> CodeTable::positionOf(StepCode const& code)
{
    if (auto const* made = std::get_if<MadeCode>(&code))
        return add(*made);
    auto const* position = std::get_if<int32_t>(&code);
    if (position == nullptr)
        return -1;
    if (*position < 0 || static_cast<size_t>(*position) >= mEntries.size())
        return errorOf(ErrorCode::kINTERNAL_ERROR, "its kernel runs code {} of {}", *position, mEntries.size());
    return *position;
}

Result<int32_t> CodeTable::add(MadeCode const& made)
{
    if (made.bytes == nullptr || made.bytes->empty())
        return errorOf(ErrorCode::kINTERNAL_ERROR, "its kernel was compiled to no code ('{}')", made.name);
    Sha256 const digest = sha256(*made.bytes);
    auto const known = std::ranges::find_if(mEntries, [&](PlanCode const& each) {
        return each.sha256 == digest && each.form == made.form && each.target == made.target;
    });
    if (known != mEntries.end())
        return static_cast<int32_t>(known - mEntries.begin());
    mEntries.push_back({.name = made.name,
        .form = made.form,
        .target = made.target,
        .sha256 = digest,
        .bytes = made.bytes->size(),
        .data = made.bytes->data(),
        .owner = made.bytes});
    return static_cast<int32_t>(mEntries.size()) - 1;
}

} // namespace tenon::planner
