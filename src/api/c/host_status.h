// What the C functions of the host's run-time answer: a status, and the sentence to it.
#pragma once

#include "tenon/host.h"

#include "base/result.h"
#include "device/host/graphs.h"

#include <exception>
#include <new>

namespace tenon::api
{

//! Keeps the sentence for tenonHostProblem().
TenonHostStatus problem(TenonHostStatus status, std::string message) noexcept;
//! By the error's class; `rest` for all that is neither a rule of captures nor memory.
TenonHostStatus statusOf(Error error, TenonHostStatus rest) noexcept;

//! Runs `work`, which answers with a Result, hands its value to `take`, and nothing is thrown.
template <typename Work, typename Take>
TenonHostStatus hostCall(TenonHostStatus rest, Work&& work, Take&& take) noexcept
{
    try
    {
        static_cast<void>(host::takeCaptureProblem()); // Of an earlier call that was not asked about.
        auto result = work();
        if (!result)
            return statusOf(std::move(result).error(), rest);
        return take(*std::move(result));
    }
    catch (std::bad_alloc const&)
    {
        return problem(TENON_HOST_OUT_OF_MEMORY, {});
    }
    catch (std::exception const& failure)
    {
        return problem(TENON_HOST_SYSTEM, failure.what());
    }
}

//! For calls whose success carries nothing.
template <typename Work>
TenonHostStatus hostCall(TenonHostStatus rest, Work&& work) noexcept
{
    return hostCall(rest, std::forward<Work>(work), [](Done) { return TENON_HOST_OK; });
}

//! For calls that give a value.
template <typename T, typename Work>
TenonHostStatus hostValue(T* to, TenonHostStatus rest, Work&& work) noexcept
{
    if (to == nullptr)
        return problem(TENON_HOST_BAD_ARGUMENT, "there is no place for the result: a pointer is null");
    return hostCall(rest, std::forward<Work>(work), [to](auto value) {
        *to = static_cast<T>(value);
        return TENON_HOST_OK;
    });
}

//! For questions whose answer "no" is TENON_HOST_NOT_READY.
template <typename Work>
TenonHostStatus hostQuestion(TenonHostStatus rest, Work&& work) noexcept
{
    return hostCall(
        rest, std::forward<Work>(work), [](bool yes) { return yes ? TENON_HOST_OK : TENON_HOST_NOT_READY; });
}

} // namespace tenon::api
