// Shape rules of the layers at the border of loops and conditionals. The graph has none of these: a whole loop or
// conditional is one node there, with a body.
#pragma once

#include "ir/layer.h"
#include "layers/public_facts.h"

namespace tenon::api
{

//! What a round begins with: the type of the first value.
struct RecurrenceFields
{
    static constexpr std::string_view kName{"Recurrence"};
    static constexpr PublicFacts kPublic{
        .type = nvinfer1::LayerType::kRECURRENCE, .maxInputs = 2, .reads = InputReads::kData};
    static constexpr auto fields()
    {
        return std::tuple{};
    }
    Result<TensorType> infer(Inputs const& in) const
    {
        return in.type(0);
    }
};

struct IteratorFields
{
    static constexpr std::string_view kName{"Iterator"};
    static constexpr PublicFacts kPublic{.type = nvinfer1::LayerType::kITERATOR, .reads = InputReads::kData};
    int32_t axis{0};
    bool isReverse{false};
    static constexpr auto fields()
    {
        return std::tuple{field(1, "Axis", &IteratorFields::axis), field(2, "Reverse", &IteratorFields::isReverse)};
    }
    Result<TensorType> infer(Inputs const& in) const;
};

struct TripLimitFields
{
    static constexpr std::string_view kName{"TripLimit"};
    static constexpr PublicFacts kPublic{.type = nvinfer1::LayerType::kTRIP_LIMIT, .outputs = 0};
    nvinfer1::TripLimit limit{};
    static constexpr auto fields()
    {
        return std::tuple{field(1, "TripLimit", &TripLimitFields::limit)};
    }
    Result<std::vector<TensorType>> infer(Inputs const& in) const;
};

struct LoopOutputFields
{
    static constexpr std::string_view kName{"LoopOutput"};
    static constexpr PublicFacts kPublic{
        .type = nvinfer1::LayerType::kLOOP_OUTPUT, .maxInputs = 2, .shapeInputs = 0b10, .reads = InputReads::kData};
    nvinfer1::LoopOutput kind{};
    int32_t axis{0};
    static constexpr auto fields()
    {
        return std::tuple{field(1, "LoopOutput", &LoopOutputFields::kind), field(2, "Axis", &LoopOutputFields::axis)};
    }
    bool isJoined() const noexcept
    {
        return kind != nvinfer1::LoopOutput::kLAST_VALUE;
    }
    Result<TensorType> infer(Inputs const& in) const;
};

struct ConditionFields
{
    static constexpr std::string_view kName{"Condition"};
    static constexpr PublicFacts kPublic{.type = nvinfer1::LayerType::kCONDITION, .outputs = 0};
    static constexpr auto fields()
    {
        return std::tuple{};
    }
    Result<std::vector<TensorType>> infer(Inputs const& in) const;
};

struct ConditionalInputFields
{
    static constexpr std::string_view kName{"ConditionalInput"};
    static constexpr PublicFacts kPublic{.type = nvinfer1::LayerType::kCONDITIONAL_INPUT};
    static constexpr auto fields()
    {
        return std::tuple{};
    }
    Result<TensorType> infer(Inputs const& in) const
    {
        return in.type(0);
    }
    std::optional<Shape> contents(Inputs const& in) const
    {
        return in[0].contents == nullptr && in[0].constant == nullptr ? std::nullopt : in.values(0);
    }
};

//! Operands: both values and, where it is known already, the condition.
struct ConditionalOutputFields
{
    static constexpr std::string_view kName{"ConditionalOutput"};
    static constexpr PublicFacts kPublic{.type = nvinfer1::LayerType::kCONDITIONAL_OUTPUT, .maxInputs = 2};
    static constexpr auto fields()
    {
        return std::tuple{};
    }
    Result<TensorType> infer(Inputs const& in) const;
    std::optional<Shape> contents(Inputs const& in) const;
};

} // namespace tenon::api
