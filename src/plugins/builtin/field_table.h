// One table for the fields of a body: what they are called, where their values are kept, and what these may be. What a
// creator advertises, how fields are read and what a plan stores all follow from it.
#pragma once

#include "plugins/builtin/stock.h"

#include <tuple>

namespace tenon::plugins::builtin
{

//! What a member keeps of a field: one number, a list of them, or a text.
template <typename T>
struct FieldKind
{
    using Element = T;
    static constexpr bool kIsList{false};
};
template <typename T>
struct FieldKind<std::vector<T>>
{
    using Element = T;
    static constexpr bool kIsList{true};
};

template <typename Element>
constexpr PluginFieldType fieldType() noexcept
{
    return std::is_same_v<Element, float> ? PluginFieldType::kFLOAT32 : PluginFieldType::kINT32;
}

//! A row. Of lists, `length` is how many numbers they have, 0 for any, and `allowed` is for each of them.
template <typename B, typename T>
struct TableField
{
    using Element = typename FieldKind<T>::Element;
    static constexpr bool kIsList{FieldKind<T>::kIsList};

    char const* name;
    T B::*member;
    bool isRequired;
    Allowed<Element> allowed;
    int32_t length;

    PluginField advertised() const
    {
        return {name, nullptr, fieldType<Element>(), length};
    }
    PluginField stored(B const& body) const
    {
        T const& value = body.*member;
        if constexpr (kIsList)
            return {name, value.data(), fieldType<Element>(), static_cast<int32_t>(value.size())};
        else
            return {name, &value, fieldType<Element>(), 1};
    }
    //! A field that is missing and may be leaves the member as it is.
    Result<Done> read(FieldReader const& fields, B& body) const
    {
        if constexpr (kIsList)
        {
            T values = isRequired
                ? TENON_TRY(fields.requiredList<Element>(name, fmt::format("be numbers, each {}", allowed.words)))
                : TENON_TRY(fields.list<Element>(name));
            for (Element const value : values)
                if (allowed.holds != nullptr && !allowed.holds(value))
                    return fields.refused(
                        name, fmt::format("has the number {}", value), fmt::format("have numbers {}", allowed.words));
            if (!values.empty())
                body.*member = std::move(values);
        }
        else if (isRequired)
            body.*member = TENON_TRY(fields.required(name, allowed));
        else
            body.*member = TENON_TRY(fields.optional(name, body.*member, allowed));
        return Done{};
    }
};

template <typename B, typename T>
constexpr TableField<B, T> requiredField(char const* name, T B::*member,
    std::type_identity_t<Allowed<typename FieldKind<T>::Element>> const& allowed = {}, int32_t length = -1)
{
    return {name, member, true, allowed, length >= 0 ? length : FieldKind<T>::kIsList ? 0 : 1};
}
template <typename B, typename T>
constexpr TableField<B, T> optionalField(char const* name, T B::*member,
    std::type_identity_t<Allowed<typename FieldKind<T>::Element>> const& allowed = {}, int32_t length = -1)
{
    return {name, member, false, allowed, length >= 0 ? length : FieldKind<T>::kIsList ? 0 : 1};
}

//! A body with a fixed number of ports (others override) and a static `table()` of its fields. `check`, which a body
//! may hide, refuses values that do not go together.
template <typename Derived, int32_t kInputs, int32_t kOutputs>
class TableBody : public Body
{
  public:
    static std::vector<PluginField> advertised()
    {
        std::vector<PluginField> all;
        forEachField([&](auto const& field) { all.push_back(field.advertised()); });
        return all;
    }
    static Result<BodyPtr> make(FieldReader const& fields)
    {
        auto body = std::make_shared<Derived>();
        Result<Done> read{Done{}};
        forEachField([&](auto const& field) {
            if (read)
                read = field.read(fields, *body);
        });
        if (read)
            read = body->check(fields);
        if (!read)
            return std::move(read).error();
        return BodyPtr{std::move(body)};
    }
    Result<Done> check(FieldReader const&)
    {
        return Done{};
    }
    int32_t inputs() const noexcept override
    {
        return kInputs;
    }
    int32_t outputs() const noexcept override
    {
        return kOutputs;
    }
    std::vector<PluginField> fields() const override
    {
        std::vector<PluginField> all;
        auto const& self = static_cast<Derived const&>(*this);
        forEachField([&](auto const& field) { all.push_back(field.stored(self)); });
        return all;
    }

  private:
    template <typename Visit>
    static void forEachField(Visit&& visit)
    {
        std::apply([&](auto const&... field) { static_cast<void>((visit(field), ..., 0)); }, Derived::table());
    }
};

//! A version whose face is IPluginV2DynamicExt.
template <typename B>
StockPlugin dynamicVersion(char const* name, char const* version)
{
    return {name, version, false, B::advertised(), &B::make};
}
//! A version whose dims leave the batch out.
template <typename B>
StockPlugin batchlessVersion(char const* name, char const* version)
{
    return {name, version, false, B::advertised(), &B::make, true};
}
//! A version whose face is IPluginV3.
template <typename B>
StockPlugin newerVersion(char const* name, char const* version)
{
    return {name, version, true, B::advertised(), &B::make};
}

} // namespace tenon::plugins::builtin
