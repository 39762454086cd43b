// Guarded: memory for a plugin with marked margins around it, and pages behind those that nobody may touch.
#pragma once

#include "base/result.h"

#include <cstdint>
#include <optional>

namespace tenon::plugins::check
{

//! A byte that depends on position and seed alone.
uint8_t patternAt(size_t position, uint32_t seed) noexcept;

class Guarded
{
  public:
    static Result<Guarded> make(size_t size);
    Guarded(Guarded&& other) noexcept;
    Guarded& operator=(Guarded&&) = delete;
    ~Guarded();

    uint8_t* data() const noexcept
    {
        return mData;
    }
    size_t size() const noexcept
    {
        return mSize;
    }
    //! The pattern, each bit of it turned when `isInverted`; marks the margins anew.
    void fill(uint32_t seed, bool isInverted) noexcept;
    //! Position of the first damaged byte of the margins: negative before the data, from size() on behind it.
    std::optional<int64_t> damage() const noexcept;

  private:
    Guarded(uint8_t* all, size_t total, size_t size) noexcept;
    uint8_t* behind() const noexcept;

    uint8_t* mAll;
    size_t mTotal;
    uint8_t* mData;
    size_t mSize;
};

} // namespace tenon::plugins::check
