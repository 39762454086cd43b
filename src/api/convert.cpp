// Conversions between public and inner types, with the checks that all calls share.
#include "api/convert.h"

#include "base/fields.h"

#include <algorithm>
#include <cstring>

namespace tenon::api
{

Result<std::string> checkedName(char const* name, std::string_view what)
{
    if (name == nullptr)
        return badArgument("the name of {} is null", what);
    size_t const length = ::strnlen(name, kMaxNameBytes);
    if (length >= kMaxNameBytes)
        return badArgument("the name of {} is longer than {} bytes", what, kMaxNameBytes - 1);
    return std::string{name, length};
}

Dims dimsOf(Shape const& shape) noexcept
{
    Dims dims{static_cast<int32_t>(shape.size()), {}};
    for (size_t i = 0; i < shape.size() && i < Dims::MAX_DIMS; ++i)
        dims.d[i] = shape[i].constant().value_or(-1);
    return dims;
}

Dims dimsOf(std::vector<int64_t> const& extents) noexcept
{
    Dims dims{static_cast<int32_t>(extents.size()), {}};
    std::copy(extents.begin(), extents.end(), dims.d);
    return dims;
}

Result<Done> checkRank(Dims const& dims, int32_t least, std::string_view what)
{
    if (dims.nbDims < least || dims.nbDims > Dims::MAX_DIMS)
        return badArgument("{}: {} dimensions; {} to {} are possible", what, dims.nbDims, least, +Dims::MAX_DIMS);
    return Done{};
}

Result<Done> checkDims(Dims const& dims, int64_t least, std::string_view what)
{
    if (dims.nbDims == -1) // Rule A1: two things that must not be confused.
        return dims.d[0] == -1 ? badArgument("{}: the rank is unknown", what)
                               : badArgument("{}: the dimensions are invalid", what);
    if (dims.nbDims < 0 || dims.nbDims > Dims::MAX_DIMS)
        return badArgument("{}: {} dimensions, the limit is {}", what, dims.nbDims, +Dims::MAX_DIMS);
    for (int32_t i = 0; i < dims.nbDims; ++i)
        if (dims.d[i] < least)
            return badArgument("{}: extent {} of {} is below {}", what, i, show(dims), least);
    return Done{};
}

std::string show(Dims const& dims)
{
    return tenon::show(dims);
}

bool equalDims(Dims const& a, Dims const& b) noexcept
{
    return a.nbDims == b.nbDims && (a.nbDims < 0 || std::equal(a.d, a.d + a.nbDims, b.d));
}

Dims filledDims(int32_t rank, int64_t extent) noexcept
{
    Dims dims{rank, {}};
    std::fill(dims.d, dims.d + std::clamp(rank, 0, +Dims::MAX_DIMS), extent);
    return dims;
}

std::shared_ptr<Constant const> constantOf(nvinfer1::Weights const& weights, std::vector<int64_t> extents)
{
    auto constant = std::make_shared<Constant>();
    constant->dtype = weights.type;
    constant->extents = std::move(extents);
    constant->data = weights.values;
    return constant;
}

} // namespace tenon::api
