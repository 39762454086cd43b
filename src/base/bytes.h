// Bytes: a little-endian writer and a bounds-checked reader for what plans and caches store.
#pragma once

#include "base/result.h"

#include <concepts>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace tenon
{

using Bytes = std::vector<uint8_t>;
using ByteView = std::span<uint8_t const>;

//! FNV-1a over bytes, continued from `seed`: for tables in memory, not against tampering.
uint64_t hashBytes(ByteView bytes, uint64_t seed = 0xCBF29CE484222325ULL) noexcept;

class ByteWriter
{
  public:
    template <typename T>
    requires std::is_trivially_copyable_v<T>
    void raw(T const& value)
    {
        size_t const at = mBytes.size();
        mBytes.resize(at + sizeof(T));
        std::memcpy(mBytes.data() + at, &value, sizeof(T));
    }
    void raw(ByteView view)
    {
        mBytes.insert(mBytes.end(), view.begin(), view.end());
    }
    Bytes take()
    {
        return std::move(mBytes);
    }
    Bytes const& bytes() const noexcept
    {
        return mBytes;
    }

  private:
    Bytes mBytes;
};

class ByteReader
{
  public:
    explicit ByteReader(ByteView bytes)
        : mBytes{bytes}
    {
    }

    template <typename T>
    requires std::is_trivially_copyable_v<T> Result<Done> raw(T& value)
    {
        return copy(&value, sizeof(T));
    }
    Result<ByteView> take(uint64_t count);
    size_t left() const noexcept
    {
        return mBytes.size() - mAt;
    }

  private:
    Result<Done> copy(void* to, size_t count);

    ByteView mBytes;
    size_t mAt{0};
};

} // namespace tenon
