// TypeSet: element types that a device's kernels take, or that a rule asks for.
#pragma once

#include "base/dtype.h"

#include <initializer_list>

namespace tenon
{

class TypeSet
{
  public:
    constexpr TypeSet() noexcept = default;
    constexpr TypeSet(std::initializer_list<DType> types) noexcept
    {
        for (DType const type : types)
            mBits |= bitOf(type);
    }
    constexpr bool has(DType type) const noexcept
    {
        return (mBits & bitOf(type)) != 0;
    }
    constexpr bool empty() const noexcept
    {
        return mBits == 0;
    }

  private:
    static constexpr uint32_t bitOf(DType type) noexcept
    {
        return isValid(type) ? uint32_t{1} << static_cast<int32_t>(type) : 0;
    }

    uint32_t mBits{0};
};

} // namespace tenon
