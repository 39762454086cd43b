// TENON_ENSURE: our own mistakes. It throws, and the fence of the public API turns that into kINTERNAL_ERROR.
#pragma once

#include <fmt/format.h>

#include <stdexcept>

namespace tenon
{

//! A broken promise between our own parts; never the answer to bad input.
class InternalError : public std::logic_error
{
  public:
    using std::logic_error::logic_error;
};

} // namespace tenon

#define TENON_ENSURE(condition, ...)                                                                                   \
    do                                                                                                                 \
    {                                                                                                                  \
        if (!(condition)) [[unlikely]]                                                                                 \
            throw ::tenon::InternalError(                                                                              \
                fmt::format("{}:{}: {}: {}", __FILE__, __LINE__, #condition, fmt::format(__VA_ARGS__)));               \
    } while (false)
