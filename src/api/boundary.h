// The fence of the public API: nothing is thrown across it; what failed goes to recorder and logger.
#pragma once

#include "base/log.h"
#include "base/out_of_memory.h"
#include "base/result.h"

#include <exception>
#include <new>
#include <type_traits>

namespace tenon::api
{

namespace detail
{
template <typename T>
inline constexpr bool kIsResult{false};
template <typename T>
inline constexpr bool kIsResult<Result<T>>{true};

inline void reportFailure(Log const& log, char const* call, ErrorCode code, char const* what) noexcept
{
    try
    {
        log.error({code, std::string{call} + ": " + what});
    }
    catch (...)
    {
        log.error({code, {}}); // Not even memory for the message.
    }
}
} // namespace detail

//! Runs `work` and gives its value; on an error or exception reports it with the name of the call and gives `failure`.
//! `work` answers with a T or a Result<T>.
template <typename T, typename Work>
T fenced(Log const& log, char const* call, T failure, Work&& work) noexcept
{
    try
    {
        auto outcome = work();
        if constexpr (detail::kIsResult<decltype(outcome)>)
        {
            if (outcome)
                return static_cast<T>(*std::move(outcome));
            log.error(std::move(outcome).error().in(call));
        }
        else
            return outcome;
    }
    catch (OutOfMemory const& problem)
    {
        detail::reportFailure(
            log, call, ErrorCode::kFAILED_ALLOCATION, (std::string{"out of memory: "} + problem.what()).c_str());
    }
    catch (std::bad_alloc const&)
    {
        detail::reportFailure(log, call, ErrorCode::kFAILED_ALLOCATION, "out of memory");
    }
    catch (std::exception const& problem)
    {
        detail::reportFailure(log, call, ErrorCode::kINTERNAL_ERROR, problem.what());
    }
    catch (...)
    {
        detail::reportFailure(log, call, ErrorCode::kINTERNAL_ERROR, "an unknown exception");
    }
    return failure;
}

//! The same for work whose success carries nothing.
template <typename Work>
bool fencedDone(Log const& log, char const* call, Work&& work) noexcept
{
    return fenced(log, call, false, [&]() -> Result<bool> {
        Result<Done> done = work();
        if (!done)
            return std::move(done).error();
        return true;
    });
}

} // namespace tenon::api
