// FieldReader: the fields that a creator of a stock plugin was given. What makes no sense is refused by name.
#pragma once

#include "base/result.h"

#include "NvInferRuntimePlugin.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::plugins::builtin
{

//! What a field may hold, and the words for it in messages. Without a test it may hold every number.
template <typename T>
struct Allowed
{
    bool (*holds)(T value){nullptr};
    char const* words{"a number"};
};

inline constexpr Allowed<int32_t> kSwitch{[](int32_t value) { return value == 0 || value == 1; }, "0 or 1"};
inline constexpr Allowed<int32_t> kPositive{[](int32_t value) { return value > 0; }, "1 or more"};

//! Fields are found by name; numbers of any field type are converted to the nearest that is asked for. A field of no
//! numbers counts as missing.
class FieldReader
{
  public:
    FieldReader(char const* plugin, char const* version, nvinfer1::PluginFieldCollection const* fields)
        : mPlugin{plugin},
          mVersion{version},
          mFields{fields}
    {
    }

    //! An error unless each field is one of `known`, which say name, type and, above 0, how many numbers, and is there
    //! once. Numbers may be of another width. Names and data are there for what is read afterwards.
    Result<Done> check(std::span<nvinfer1::PluginField const> known) const;

    //! The first number of a field, which must be there.
    template <typename T>
    Result<T> required(std::string_view name, Allowed<T> const& allowed = {}) const;
    //! The first number of a field, or `otherwise` where it is missing.
    template <typename T>
    Result<T> optional(std::string_view name, T otherwise, Allowed<T> const& allowed = {}) const;
    //! All numbers of a field; empty where it is missing.
    template <typename T>
    Result<std::vector<T>> list(std::string_view name) const;
    //! The same of a field that must be there.
    template <typename T>
    Result<std::vector<T>> requiredList(std::string_view name, std::string_view must) const;
    //! An error unless `name` has as many numbers as `other`.
    Result<Done> sameCount(std::string_view name, size_t count, std::string_view other, size_t otherCount) const;
    //! The characters of a field up to the first null; empty where it is missing.
    Result<std::string> text(std::string_view name) const;

    //! "field 'x' of plugin 'P' version '1' is 3: it must be 1 or 2", where `is` is "is 3" and `must` "be 1 or 2".
    Error refused(std::string_view name, std::string_view is, std::string_view must) const;

  private:
    Result<Done> checkOne(nvinfer1::PluginField const& field, std::span<nvinfer1::PluginField const> known) const;
    //! Null where it is missing.
    nvinfer1::PluginField const* find(std::string_view name) const noexcept;
    template <typename T>
    Result<T> checked(std::string_view name, T value, Allowed<T> const& allowed) const;

    char const* mPlugin;
    char const* mVersion;
    nvinfer1::PluginFieldCollection const* mFields;
};

} // namespace tenon::plugins::builtin
