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
#include <optional>
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

// What is the same for all structs is compiled once (fields.cpp): there are hundreds of fields.

//! A field as it is stored.
struct StoredField
{
    int32_t id;
    ByteReader bytes;
};
void storeField(ByteWriter& out, int32_t id, ByteWriter const& bytes);
Result<StoredField> nextField(ByteReader& in);
//! The error of `read`, or that a field that was read has bytes left.
Result<Done> readToEnd(Result<Done> read, std::string_view name, ByteReader const& bytes);
Result<Done> unknownField(int32_t id);

template <HasFields S>
void storeFields(ByteWriter& out, S const& value)
{
    out.raw(static_cast<uint32_t>(std::tuple_size_v<decltype(S::fields())>));
    forEachField<S>([&](auto const& f) {
        ByteWriter inner;
        store(inner, value.*f.member);
        storeField(out, f.id, inner);
    });
}

template <HasFields S>
Result<Done> loadFields(ByteReader& in, S& value, int32_t depth)
{
    uint32_t count{0};
    TENON_TRY(in.raw(count));
    for (uint32_t i = 0; i < count; ++i)
    {
        StoredField stored = TENON_TRY(nextField(in));
        Result<Done> read{Done{}};
        bool known{false};
        forEachField<S>([&](auto const& f) {
            if (f.id != stored.id)
                return;
            known = true;
            read = readToEnd(load(stored.bytes, value.*f.member, depth + 1), f.name, stored.bytes);
        });
        if (!known)
            return unknownField(stored.id);
        TENON_TRY(std::move(read));
    }
    return Done{};
}
} // namespace detail

template <typename T>
void store(ByteWriter& out, T const& value)
{
    if constexpr (HasFields<T>)
        detail::storeFields(out, value);
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
        return detail::loadFields(in, value, depth);
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
    std::string text;
    S const plain{};
    forEachField<S>([&](auto const& f) {
        ByteWriter mine;
        ByteWriter standard;
        store(mine, value.*f.member);
        store(standard, plain.*f.member);
        if (mine.bytes() == standard.bytes())
            return;
        text += fmt::format("{}{}={}", text.empty() ? "" : ", ", f.name, show(value.*f.member));
    });
    return text;
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

} // namespace tenon
