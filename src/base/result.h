// Result: a value or an error; how every function inside that can fail answers.
#pragma once

#include "NvInferRuntimeBase.h"

#include <fmt/format.h>

#include <string>
#include <type_traits>
#include <utility>
#include <variant>

namespace tenon
{

using nvinfer1::ErrorCode;

//! What went wrong: the class of the public API and a sentence that names layer, tensor and cause.
struct Error
{
    ErrorCode code{ErrorCode::kUNSPECIFIED_ERROR};
    std::string message;

    //! The same error with "where: " in front; used on the way up by those who know more of the context.
    Error in(std::string const& where) &&
    {
        return Error{code, where + ": " + message};
    }
};

//! The value of a Result that carries nothing but success.
struct Done
{
};

template <typename T>
class [[nodiscard]] Result
{
  public:
    //! From a value, or from what converts to one (a pointer to a derived class, say).
    template <typename U = T>
    requires(
        std::is_convertible_v<U,
            T> && !std::is_same_v<std::remove_cvref_t<U>, Error> && !std::is_same_v<std::remove_cvref_t<U>, Result>)
        Result(U&& value)
        : mState{std::in_place_index<0>, std::forward<U>(value)}
    {
    }
    Result(Error error)
        : mState{std::in_place_index<1>, std::move(error)}
    {
    }

    explicit operator bool() const noexcept
    {
        return mState.index() == 0;
    }
    T& operator*() &
    {
        return std::get<0>(mState);
    }
    T const& operator*() const&
    {
        return std::get<0>(mState);
    }
    T&& operator*() &&
    {
        return std::get<0>(std::move(mState));
    }
    T* operator->()
    {
        return &std::get<0>(mState);
    }
    T const* operator->() const
    {
        return &std::get<0>(mState);
    }
    Error& error() &
    {
        return std::get<1>(mState);
    }
    Error const& error() const&
    {
        return std::get<1>(mState);
    }
    Error&& error() &&
    {
        return std::get<1>(std::move(mState));
    }

  private:
    std::variant<T, Error> mState;
};

template <typename... Args>
[[nodiscard]] Error errorOf(ErrorCode code, fmt::format_string<Args...> format, Args&&... args)
{
    return Error{code, fmt::format(format, std::forward<Args>(args)...)};
}

//! The user's mistake: one argument is wrong in itself.
template <typename... Args>
[[nodiscard]] Error badArgument(fmt::format_string<Args...> format, Args&&... args)
{
    return errorOf(ErrorCode::kINVALID_ARGUMENT, format, std::forward<Args>(args)...);
}

//! The user's mistake: arguments that do not fit each other, or a network that cannot be built.
template <typename... Args>
[[nodiscard]] Error badConfig(fmt::format_string<Args...> format, Args&&... args)
{
    return errorOf(ErrorCode::kINVALID_CONFIG, format, std::forward<Args>(args)...);
}

} // namespace tenon

//! The value of an expression that gives a Result, or return its error from the function at hand.
#define TENON_TRY(expression)                                                                                          \
    __extension__({                                                                                                    \
        auto tenonResult = (expression);                                                                               \
        if (!tenonResult)                                                                                              \
            return std::move(tenonResult).error();                                                                     \
        *std::move(tenonResult);                                                                                       \
    })
