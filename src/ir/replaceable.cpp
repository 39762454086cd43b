// Replaceable: marks by address, found through the thread.
#include "ir/replaceable.h"

#include <algorithm>
#include <iterator>

namespace tenon
{

namespace
{
thread_local Replaceable* gReplaceable{nullptr};
WeightIds const kNoIds{};
} // namespace

Replaceable::Replaceable() noexcept
    : mBefore{gReplaceable}
{
    gReplaceable = this;
}

Replaceable::~Replaceable()
{
    gReplaceable = mBefore;
}

Replaceable* Replaceable::active() noexcept
{
    return gReplaceable;
}

void Replaceable::mark(std::shared_ptr<Constant const> const& constant, WeightIds ids)
{
    DType const type = constant->dtype;
    if (!ids.empty() && type != DType::kINT32 && type != DType::kINT64 && type != DType::kBOOL)
        mMarks.insert_or_assign(constant.get(), Mark{constant, std::move(ids)});
}

WeightIds const& Replaceable::idsOf(Constant const& constant) const noexcept
{
    auto const found = mMarks.find(&constant);
    return found == mMarks.end() ? kNoIds : found->second.ids;
}

WeightIds const& weightIdsOf(Constant const& constant) noexcept
{
    return gReplaceable == nullptr ? kNoIds : gReplaceable->idsOf(constant);
}

WeightIds joined(WeightIds const& a, WeightIds const& b)
{
    WeightIds all;
    std::ranges::set_union(a, b, std::back_inserter(all));
    return all;
}

} // namespace tenon
