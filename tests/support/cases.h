// Case files: layers with inputs and golden outputs (tests/layers/cases), as data for tests of every backend.
#pragma once

#include "ir/host_tensor.h"
#include "ir/layer.h"
#include "layers/layer_table.h"

#include "layers_includes.inc"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace tenon::test
{

struct CaseInput
{
    HostTensor tensor;
    bool isConstant{false}; //!< The build knows it: an initializer, not a network input.
};

struct LayerCase
{
    std::string kind;
    std::string name;
    LayerPtr layer;
    std::vector<std::optional<CaseInput>> inputs; //!< Empty: optional input that is absent.
    std::vector<HostTensor> outputs;

    std::string fullName() const
    {
        return kind + "_" + name;
    }
};

//! What test frameworks print.
inline void PrintTo(LayerCase const& one, std::ostream* out)
{
    *out << one.fullName() << " {" << one.layer->show() << "}";
}

namespace detail
{
using Json = nlohmann::json;

//! A field of a value that is read, by a function that knows its type.
struct FieldToRead
{
    std::string_view name;
    void* value;
    void (*read)(Json const& json, void* value);
};

inline void readFields(Json const& json, std::span<FieldToRead const> fields)
{
    for (auto const& [key, each] : json.items())
    {
        auto const isMeant = [&name = key](FieldToRead const& field) { return field.name == name; };
        auto const found = std::find_if(fields.begin(), fields.end(), isMeant);
        if (found == fields.end())
            throw std::runtime_error("a case sets the unknown field " + key);
        found->read(each, found->value);
    }
}

template <typename T>
void readField(Json const& json, T& value);

template <typename S, typename T>
FieldToRead fieldToRead(Field<S, T> const& field, S& value)
{
    return {field.name, &(value.*field.member),
        [](Json const& json, void* member) { readField(json, *static_cast<T*>(member)); }};
}

template <typename T>
void readField(Json const& json, T& value)
{
    if constexpr (HasFields<T>)
    {
        auto const fields = std::apply(
            [&](auto const&... each) { return std::array<FieldToRead, sizeof...(each)>{fieldToRead(each, value)...}; },
            T::fields());
        readFields(json, fields);
    }
    else if constexpr (std::is_same_v<T, nvinfer1::Dims64>)
    {
        value.nbDims = static_cast<int32_t>(json.size());
        for (size_t i = 0; i < json.size(); ++i)
            value.d[i] = json[i].get<int64_t>();
    }
    else if constexpr (tenon::detail::kIsVector<T>)
    {
        value.clear();
        for (Json const& each : json)
            readField(each, value.emplace_back());
    }
    else if constexpr (tenon::detail::kIsArray<T>)
        for (size_t i = 0; i < value.size(); ++i)
            readField(json.at(i), value[i]);
    else if constexpr (tenon::detail::kIsOptional<T>)
        readField(json, value.emplace());
    else if constexpr (std::is_enum_v<T>)
        value = static_cast<T>(json.get<int64_t>());
    else
        value = json.get<T>();
}

template <typename L>
LayerPtr makeFromJson(Json const& fields)
{
    L layer;
    readField(fields, layer);
    return makeLayer(std::move(layer));
}

inline LayerPtr layerFromJson(std::string const& kind, Json const& fields)
{
#define TENON_TABLE_ENTRY(Name)                                                                                        \
    if (kind == tenon::Name::kName)                                                                                    \
        return makeFromJson<tenon::Name>(fields);
#include "layers_table.inc"
#undef TENON_TABLE_ENTRY
    throw std::runtime_error("a case file of the unknown kind " + kind);
}

inline double numberFromJson(Json const& json)
{
    if (!json.is_string())
        return json.get<double>();
    if (json == "nan")
        return std::numeric_limits<double>::quiet_NaN();
    return json == "inf" ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
}

inline DType typeFromName(std::string const& name)
{
    for (int32_t i = 0; isValid(static_cast<DType>(i)); ++i)
        if (nameOf(static_cast<DType>(i)) == name)
            return static_cast<DType>(i);
    throw std::runtime_error("a case has the unknown type " + name);
}

inline HostTensor tensorFromJson(Json const& json)
{
    HostTensor tensor{typeFromName(json.at("type")), json.at("extents").get<std::vector<int64_t>>()};
    Json const& data = json.at("data");
    if (static_cast<int64_t>(data.size()) != tensor.count())
        throw std::runtime_error("a case has a tensor with another number of elements than its extents say");
    for (size_t i = 0; i < data.size(); ++i)
        if (tensor.isReal())
            tensor.set(static_cast<int64_t>(i), numberFromJson(data[i]));
        else
            tensor.setInteger(static_cast<int64_t>(i), data[i].get<int64_t>());
    return tensor;
}
} // namespace detail

//! The cases of one file; throws when it is not well formed.
inline std::vector<LayerCase> loadCases(std::filesystem::path const& file)
{
    std::ifstream stream{file};
    detail::Json const json = detail::Json::parse(stream);
    std::vector<LayerCase> cases;
    for (detail::Json const& record : json.at("cases"))
    {
        LayerCase one;
        one.kind = json.at("kind");
        one.name = record.at("name");
        one.layer = detail::layerFromJson(one.kind, record.at("fields"));
        for (detail::Json const& input : record.at("inputs"))
            if (input.is_null())
                one.inputs.emplace_back();
            else
                one.inputs.push_back(CaseInput{detail::tensorFromJson(input), input.contains("constant")});
        for (detail::Json const& output : record.at("outputs"))
            one.outputs.push_back(detail::tensorFromJson(output));
        cases.push_back(std::move(one));
    }
    return cases;
}

//! All cases of a folder, by file name.
inline std::vector<LayerCase> loadAllCases(std::filesystem::path const& folder)
{
    std::vector<std::filesystem::path> files;
    for (auto const& entry : std::filesystem::directory_iterator{folder})
        if (entry.path().extension() == ".json")
            files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    std::vector<LayerCase> cases;
    for (auto const& file : files)
        for (LayerCase& each : loadCases(file))
            cases.push_back(std::move(each));
    return cases;
}

//! |a − b| ≤ atol + rtol·|b| by type; NaN equals NaN. The first difference in words, or nothing.
inline std::optional<std::string> differenceOf(HostTensor const& got, HostTensor const& golden)
{
    if (got.dtype != golden.dtype)
        return fmt::format("type {} instead of {}", nameOf(got.dtype), nameOf(golden.dtype));
    if (got.extents != golden.extents)
        return fmt::format("extents {} instead of {}", show(got.extents), show(golden.extents));
    double const atol = golden.dtype == DType::kFLOAT ? 1e-5 : golden.dtype == DType::kHALF ? 2.5e-3 : 2e-2;
    double const rtol = golden.dtype == DType::kFLOAT ? 1e-4 : golden.dtype == DType::kHALF ? 1e-3 : 1e-2;
    for (int64_t i = 0; i < golden.count(); ++i)
    {
        if (!golden.isReal())
        {
            if (got.integer(i) != golden.integer(i))
                return fmt::format("element {} is {} instead of {}", i, got.integer(i), golden.integer(i));
            continue;
        }
        double const a = got.real(i);
        double const b = golden.real(i);
        bool const equal = a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= atol + rtol * std::abs(b);
        if (!equal)
            return fmt::format("element {} is {} instead of {}", i, a, b);
    }
    return std::nullopt;
}

} // namespace tenon::test
