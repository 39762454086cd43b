// OutOfMemory: a failed allocation that knows what it was for.
#pragma once

#include <cstdint>
#include <new>
#include <string>
#include <utility>

namespace tenon
{

class OutOfMemory final : public std::bad_alloc
{
  public:
    explicit OutOfMemory(std::string what)
        : mWhat{std::move(what)}
    {
    }
    char const* what() const noexcept override
    {
        return mWhat.c_str();
    }

  private:
    std::string mWhat;
};

//! Whether the machine has so much memory at all. The system promises more than it has, and ends who takes it.
bool isToBeHad(uint64_t bytes) noexcept;

} // namespace tenon
