// Weights: identity of constants. Short ones are the same when their contents are, long ones when their memory is
// (common subexpressions have been merged before).
#include "planner/weights.h"

#include <cstring>

namespace tenon::planner
{

namespace
{
constexpr int64_t kComparedBytes{int64_t{1} << 16};

std::string formOf(std::string const& packing, ByteView contents)
{
    return packing.empty() ? packing : fmt::format("{}:{:x}:{}", packing, hashBytes(contents), contents.size());
}
} // namespace

Weights::Identity Weights::identityOf(Constant const& constant) const
{
    Identity identity{constant.dtype, constant.extents, constant.data, 0};
    if (constant.bytes() <= kComparedBytes)
    {
        identity.data = nullptr;
        identity.hash = hashBytes({static_cast<uint8_t const*>(constant.data), static_cast<size_t>(constant.bytes())});
    }
    return identity;
}

int32_t Weights::add(Identity const& identity, PlanWeight weight)
{
    // Kernels that pack by different choices under one name are told apart by what they packed.
    ByteView const contents{static_cast<uint8_t const*>(weight.data), weight.bytes};
    auto const [at, isNew] =
        mForms[identity].try_emplace(formOf(weight.packing, contents), static_cast<int32_t>(mEntries.size()));
    if (isNew)
        mEntries.push_back(std::move(weight));
    return at->second;
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
            .name = name});
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
            .name = name});
}

int32_t Weights::find(Constant const& constant) const
{
    auto const known = mForms.find(identityOf(constant));
    return known == mForms.end() ? -1 : known->second.begin()->second; // The empty form sorts first.
}

} // namespace tenon::planner
