// Fields: one list per struct gives equality, hash, print and storage, so that no member can be forgotten in one of
// them.
//
//   struct Scale { int axis{0}; std::string mode;
//       static constexpr auto fields() { return std::tuple{field(1, "axis", &Scale::axis), field(2, "mode",
//       &Scale::mode)}; } };
//
// Ids are stored in plans: append new ones, never reuse one. A field that a stored value lacks keeps its default.
#pragma once

#include "base/bytes.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace tenon
{

template <typename S, typename T>
struct Field
{
    int32_t id;
    std::string_view name;
    T S::*member;
    int32_t input{-1}; //!< Of a layer: a tensor at this input takes the field's place (rule E7); −1: none can.

    constexpr Field orInput(int32_t position) const
    {
        return {id, name, member, position};
    }
};

template <typename S, typename T>
constexpr Field<S, T> field(int32_t id, std::string_view name, T S::*member)
{
    return {id, name, member, -1};
}

template <typename S>
concept HasFields = requires
{
    S::fields();
};

//! Calls `visit(field)` for each field of S, in the order of the list.
template <HasFields S, typename Visit>
constexpr void forEachField(Visit&& visit)
{
    std::apply([&](auto const&... each) { (visit(each), ...); }, S::fields());
}

// ---- storage

//! Nesting and element limits keep a hostile plan from exhausting the stack or the memory.
inline constexpr int32_t kMaxFieldDepth{16};

template <typename T>
void store(ByteWriter& out, T const& value);
template <typename T>
Result<Done> load(ByteReader& in, T& value, int32_t depth = 0);

namespace detail
{
template <typename T>
inline constexpr bool kIsVector{false};
template <typename T>
inline constexpr bool kIsVector<std::vector<T>>{true};
template <typename T>
inline constexpr bool kIsOptional{false};
template <typename T>
inline constexpr bool kIsOptional<std::optional<T>>{true};
template <typename T>
inline constexpr bool kIsArray{false};
template <typename T, size_t N>
inline constexpr bool kIsArray<std::array<T, N>>{true};

//! What there is to do with a value of some type, for code that is compiled once for all types (fields.cpp): there are
//! hundreds of fields, of few types.
struct FieldKind
{
    void (*store)(ByteWriter& out, void const* value);
    Result<Done> (*load)(ByteReader& in, void* value, int32_t depth);
    std::string (*show)(void const* value);
};

//! A field of one value.
struct FieldAt
{
    int32_t id;
    std::string_view name;
    void const* value;
    FieldKind const* kind;
};

void storeFields(ByteWriter& out, std::span<FieldAt const> fields);
//! Into fields of a value that may be changed.
Result<Done> loadFields(ByteReader& in, std::span<FieldAt const> fields, int32_t depth);
//! Those that differ from `plain`, the same fields of another value.
std::string showFields(std::span<FieldAt const> fields, std::span<FieldAt const> plain);

template <typename S, typename T>
constexpr FieldKind const& fieldKind(Field<S, T> const& field) noexcept;

template <HasFields S>
auto fieldsAt(S const& value)
{
    return std::apply(
        [&](auto const&... each) {
            return std::array<FieldAt, sizeof...(each)>{
                FieldAt{each.id, each.name, &(value.*each.member), &fieldKind(each)}...};
        },
        S::fields());
}
} // namespace detail

template <typename T>
void store(ByteWriter& out, T const& value)
{
    if constexpr (HasFields<T>)
        detail::storeFields(out, detail::fieldsAt(value));
    else if constexpr (std::is_same_v<T, std::string>)
    {
        out.raw(static_cast<uint64_t>(value.size()));
        out.raw(ByteView{reinterpret_cast<uint8_t const*>(value.data()), value.size()});
    }
    else if constexpr (detail::kIsVector<T>)
    {
        out.raw(static_cast<uint64_t>(value.size()));
        if constexpr (std::is_same_v<T, Bytes>)
            out.raw(ByteView{value});
        else
            for (auto const& each : value)
                store(out, each);
    }
    else if constexpr (detail::kIsArray<T>)
        for (auto const& each : value)
            store(out, each);
    else if constexpr (detail::kIsOptional<T>)
    {
        out.raw(static_cast<uint8_t>(value.has_value()));
        if (value)
            store(out, *value);
    }
    else if constexpr (std::is_same_v<T, nvinfer1::Dims64>)
    {
        out.raw(value.nbDims);
        for (int32_t i = 0; i < nvinfer1::Dims64::MAX_DIMS; ++i)
            out.raw(value.d[i]);
    }
    else
    {
        static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
        out.raw(value);
    }
}

template <typename T>
Result<Done> load(ByteReader& in, T& value, int32_t depth)
{
    if (depth > kMaxFieldDepth)
        return badArgument("fields are nested deeper than {}", kMaxFieldDepth);
    if constexpr (HasFields<T>)
        return detail::loadFields(in, detail::fieldsAt(value), depth);
    else if constexpr (std::is_same_v<T, std::string>)
    {
        uint64_t size{0};
        TENON_TRY(in.raw(size));
        ByteView const view = TENON_TRY(in.take(size));
        value.assign(view.begin(), view.end());
        return Done{};
    }
    else if constexpr (detail::kIsVector<T>)
    {
        uint64_t size{0};
        TENON_TRY(in.raw(size));
        if (size > in.left()) // Every element takes at least one byte.
            return badArgument("a list of {} elements in {} bytes", size, in.left());
        if constexpr (std::is_same_v<T, Bytes>)
        {
            ByteView const view = TENON_TRY(in.take(size));
            value.assign(view.begin(), view.end());
            return Done{};
        }
        value.clear();
        for (uint64_t i = 0; i < size; ++i)
        {
            typename T::value_type each{};
            TENON_TRY(load(in, each, depth + 1));
            value.push_back(std::move(each));
        }
        return Done{};
    }
    else if constexpr (detail::kIsArray<T>)
    {
        for (auto& each : value)
            TENON_TRY(load(in, each, depth + 1));
        return Done{};
    }
    else if constexpr (detail::kIsOptional<T>)
    {
        uint8_t present{0};
        TENON_TRY(in.raw(present));
        value.reset();
        if (present != 0)
            TENON_TRY(load(in, value.emplace(), depth + 1));
        return Done{};
    }
    else if constexpr (std::is_same_v<T, nvinfer1::Dims64>)
    {
        TENON_TRY(in.raw(value.nbDims));
        for (int32_t i = 0; i < nvinfer1::Dims64::MAX_DIMS; ++i)
            TENON_TRY(in.raw(value.d[i]));
        if (value.nbDims < -1 || value.nbDims > nvinfer1::Dims64::MAX_DIMS)
            return badArgument("dims of rank {}", value.nbDims);
        return Done{};
    }
    else if constexpr (std::is_same_v<T, bool>)
    {
        uint8_t byte{0};
        TENON_TRY(in.raw(byte));
        value = byte != 0;
        return Done{};
    }
    else
    {
        static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
        return in.raw(value);
    }
}

// ---- equality, hash, print

template <HasFields S>
Bytes stored(S const& value)
{
    ByteWriter out;
    store(out, value);
    return out.take();
}

//! Equal when every field is; floats compare by bits, so that a NaN equals itself and −0 differs from 0.
template <HasFields S>
bool equalFields(S const& a, S const& b)
{
    return stored(a) == stored(b);
}

template <HasFields S>
uint64_t hashFields(S const& value)
{
    Bytes const bytes = stored(value);
    return hashBytes(bytes);
}

template <typename T>
std::string show(T const& value);

//! "name=value, …" for logs and the text form of graphs; fields that equal their default are left out.
template <HasFields S>
std::string showFields(S const& value)
{
    S const plain{};
    return detail::showFields(detail::fieldsAt(value), detail::fieldsAt(plain));
}

template <typename T>
std::string show(T const& value)
{
    if constexpr (requires { value.show(); })
        return value.show();
    else if constexpr (HasFields<T>)
        return "{" + showFields(value) + "}";
    else if constexpr (std::is_same_v<T, std::string>)
        return fmt::format("\"{}\"", value);
    else if constexpr (detail::kIsVector<T> || detail::kIsArray<T>)
    {
        std::string text;
        for (auto const& each : value)
            text += (text.empty() ? "" : ",") + show(each);
        return "[" + text + "]";
    }
    else if constexpr (detail::kIsOptional<T>)
        return value ? show(*value) : "none";
    else if constexpr (std::is_same_v<T, nvinfer1::Dims64>)
    {
        std::string text;
        for (int32_t i = 0; i < value.nbDims; ++i)
            text += fmt::format("{}{}", i == 0 ? "" : ",", value.d[i]);
        return value.nbDims < 0 ? std::string{"(?)"} : "(" + text + ")";
    }
    else if constexpr (std::is_enum_v<T>)
        return fmt::format("{}", static_cast<int64_t>(value));
    else
        return fmt::format("{}", value);
}

// ---- kinds

namespace detail
{
template <typename T>
struct KindOf
{
    static void storeIt(ByteWriter& out, void const* value)
    {
        store(out, *static_cast<T const*>(value));
    }
    static Result<Done> loadIt(ByteReader& in, void* value, int32_t depth)
    {
        return load(in, *static_cast<T*>(value), depth);
    }
    static std::string showIt(void const* value)
    {
        return show(*static_cast<T const*>(value));
    }
};

//! Enumerations are stored and shown as their numbers: one kind serves all that have the same.
template <typename Number>
struct KindOfEnums
{
    static void storeIt(ByteWriter& out, void const* value)
    {
        Number number;
        std::memcpy(&number, value, sizeof(number));
        store(out, number);
    }
    static Result<Done> loadIt(ByteReader& in, void* value, int32_t depth)
    {
        Number number;
        TENON_TRY(load(in, number, depth));
        std::memcpy(value, &number, sizeof(number));
        return Done{};
    }
    static std::string showIt(void const* value)
    {
        Number number;
        std::memcpy(&number, value, sizeof(number));
        return show(static_cast<int64_t>(number));
    }
};
template <typename T>
requires std::is_enum_v<T>
struct KindOf<T> : KindOfEnums<std::underlying_type_t<T>>
{
};

template <typename T>
inline constexpr FieldKind kKindOf{&KindOf<T>::storeIt, &KindOf<T>::loadIt, &KindOf<T>::showIt};

template <typename S, typename T>
constexpr FieldKind const& fieldKind(Field<S, T> const&) noexcept
{
    return kKindOf<T>;
}
} // namespace detail

} // namespace tenon
