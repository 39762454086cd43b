// Requirement: extents are compared where both are known, values one by one.
#include "layers/requirement.h"

#include "layers/check.h"

#include <algorithm>

namespace tenon
{

namespace
{
bool isAxis(int64_t axis) noexcept
{
    return axis >= 0 && axis < nvinfer1::Dims::MAX_DIMS;
}

//! Null: the input has no such axis.
ShapeExpr const* extentAt(Inputs const& in, int32_t input, int64_t axis)
{
    return in.has(input) && axis < in.type(input).rank() ? &in.type(input).shape[static_cast<size_t>(axis)] : nullptr;
}

std::string extentsOf(Inputs const& in)
{
    std::string all;
    for (int32_t i = 0; i < in.size(); ++i)
    {
        all += i == 0 ? "[" : ", [";
        for (int32_t axis = 0; in.has(i) && axis < in.type(i).rank(); ++axis)
            all += (axis == 0 ? "" : ", ") + in.type(i).shape[static_cast<size_t>(axis)].show();
        all += "]";
    }
    return all;
}
} // namespace

Result<Done> Requirement::verify() const
{
    bool const hasExtents = std::ranges::all_of(extents, [](RequiredExtent const& each) {
        return each.input >= 0 && isAxis(each.axis) && each.other >= -1 && (each.other == -1 || isAxis(each.otherAxis));
    });
    bool const hasValues = std::ranges::all_of(
        values, [](RequiredValues const& each) { return each.input >= 0 && each.extentOf >= -1 && isAxis(each.axis); });
    if (!hasExtents || !hasValues)
        return badArgument("it names an input or an axis that cannot be");
    return Done{};
}

Result<std::vector<TensorType>> Requirement::infer(Inputs const& in) const
{
    Check check{in, kName};
    check.fields(verify()).count(in.size());
    for (RequiredValues const& each : values)
    {
        check.input(each.input, in.has(each.input), "is missing").index(each.input);
        check.that(each.extentOf < 0 || extentAt(in, each.extentOf, each.axis) != nullptr, "input {} has no axis {}",
            each.extentOf, each.axis);
    }
    for (RequiredExtent const& each : extents)
    {
        TENON_TRY(check.done());
        ShapeExpr const* const own = extentAt(in, each.input, each.axis);
        ShapeExpr const number{each.otherAxis};
        ShapeExpr const* const wanted = each.other < 0 ? &number : extentAt(in, each.other, each.otherAxis);
        bool const isWrong =
            own == nullptr || wanted == nullptr || (own->isConstant() && wanted->isConstant() && !(*own == *wanted));
        if (isWrong)
            return badConfig("the inputs are {}, which do not fit; {}", extentsOf(in), message);
    }
    TENON_TRY(check.done());
    return std::vector<TensorType>{};
}

Result<std::vector<HostTensor>> Requirement::reference(HostTensors const& in) const
{
    for (RequiredValues const& each : values)
    {
        int64_t most = each.most;
        if (each.extentOf >= 0)
            most += in.at(static_cast<size_t>(each.extentOf))->extents.at(static_cast<size_t>(each.axis));
        for (int64_t const value : in.at(static_cast<size_t>(each.input))->integers)
            if (value < each.least || value > most)
                return errorOf(ErrorCode::kFAILED_EXECUTION, "{} (it is {}, and may be {} to {})", each.message, value,
                    each.least, most);
    }
    return std::vector<HostTensor>{};
}

} // namespace tenon
