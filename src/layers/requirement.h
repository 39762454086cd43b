// Requirement: what layers that stand for another one ask of their inputs, where they themselves would take more.
#pragma once

#include "ir/layer.h"
#include "layers/layer_table.h"

#include <array>

namespace tenon
{

//! An extent of an input, and what it must be: that of another one or, where `other` is −1, the number `otherAxis`.
struct RequiredExtent
{
    int32_t input{0};
    int32_t axis{0};
    int32_t other{-1};
    int64_t otherAxis{0};

    static constexpr auto fields()
    {
        return std::tuple{field(1, "input", &RequiredExtent::input), field(2, "axis", &RequiredExtent::axis),
            field(3, "other", &RequiredExtent::other), field(4, "otherAxis", &RequiredExtent::otherAxis)};
    }
};

//! Values of an integer input lie within [least, most]; `most` counts from an extent where `input` of it is not −1.
struct RequiredValues
{
    int32_t input{0};
    int64_t least{0};
    int64_t most{0};
    int32_t extentOf{-1};
    int32_t axis{0};
    std::string message;

    static constexpr auto fields()
    {
        return std::tuple{field(1, "input", &RequiredValues::input), field(2, "least", &RequiredValues::least),
            field(3, "most", &RequiredValues::most), field(4, "extentOf", &RequiredValues::extentOf),
            field(5, "axis", &RequiredValues::axis), field(6, "message", &RequiredValues::message)};
    }
};

//! Inputs: any tensors. No outputs. Extents are looked at when a run is prepared; values while it runs, on the host
//! alone: kernels of GPUs say of theirs what becomes of values that there are none for.
struct Requirement
{
    static constexpr std::string_view kName{"Requirement"};
    static constexpr bool kHasSideEffects{true};
    std::vector<RequiredExtent> extents;
    std::vector<RequiredValues> values;
    std::string message; //!< Of extents.

    static constexpr auto fields()
    {
        return std::tuple{field(1, "extents", &Requirement::extents), field(2, "values", &Requirement::values),
            field(3, "message", &Requirement::message)};
    }

    Result<Done> verify() const;
    //! An error where extents are known and not those that are asked for.
    Result<std::vector<TensorType>> infer(Inputs const& in) const;
    Result<std::vector<HostTensor>> reference(HostTensors const& in) const;
};

} // namespace tenon

TENON_LAYER(Requirement);
