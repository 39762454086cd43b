// Weights: identity of constants. Short ones are the same when their contents are, long ones when their memory is
// (common subexpressions have been merged before).
#include "planner/weights.h"

#include "ir/replaceable.h"

#include <cstring>
#include <tuple>

namespace tenon::planner
{

namespace
{
constexpr int64_t kComparedBytes{int64_t{1} << 16};

bool haveSameContents(PlanWeight const& a, PlanWeight const& b)
{
    if (!a.refit.empty() || !b.refit.empty())
        return a.data == b.data; // Contents may part later.
    return a.bytes == b.bytes && (a.data == b.data || std::memcmp(a.data, b.data, a.bytes) == 0);
}
} // namespace

std::strong_ordering Weights::Identity::operator<=>(Identity const& other) const
{
    auto const order = std::tie(dtype, extents, byContents, hash, bytes)
        <=> std::tie(other.dtype, other.extents, other.byContents, other.hash, other.bytes);
    if (order != 0 || data == other.data)
        return order;
    return byContents ? std::memcmp(data, other.data, bytes) <=> 0 : std::compare_three_way{}(data, other.data);
}

Weights::Identity Weights::identityOf(Constant const& constant)
{
    auto const bytes = static_cast<size_t>(constant.bytes());
    bool const isShort = constant.bytes() <= kComparedBytes && !isReplaceable(constant);
    uint64_t const hash = isShort ? hashBytes({static_cast<uint8_t const*>(constant.data), bytes}) : 0;
    return {constant.dtype, constant.extents, isShort, hash, constant.data, bytes};
}

int32_t Weights::add(Identity const& identity, PlanWeight weight)
{
    auto& forms = mForms[identity];
    for (int32_t number = 0;; ++number)
    {
        auto const [at, isNew] = forms.try_emplace({weight.packing, number}, static_cast<int32_t>(mEntries.size()));
        if (!isNew && !haveSameContents(mEntries[static_cast<size_t>(at->second)], weight))
            continue;
        if (isNew)
            mEntries.push_back(std::move(weight));
        return at->second;
    }
}

int32_t Weights::plain(Constant const& constant, std::shared_ptr<void const> keeper, std::string const& name)
{
    return add(identityOf(constant),
        {.dtype = constant.dtype,
            .extents = constant.extents,
            .packing = {},
            .bytes = static_cast<uint64_t>(constant.bytes()),
            .data = constant.data,
            .owner = std::move(keeper),
            .name = name,
            .refit = weightIdsOf(constant)});
}

int32_t Weights::packed(Constant const& original, PackedWeight const& weight, std::string const& name)
{
    return add(identityOf(original),
        {.dtype = weight.data->dtype,
            .extents = weight.data->extents,
            .packing = weight.packing,
            .bytes = weight.bytes,
            .data = weight.data->data,
            .owner = weight.data,
            .name = name,
            .refit = weightIdsOf(original)});
}

int32_t Weights::find(Constant const& constant) const
{
    auto const known = mForms.find(identityOf(constant));
    return known == mForms.end() ? -1 : known->second.begin()->second; // The empty packing sorts first.
}

} // namespace tenon::planner
