// Shape rules at the border of loops and conditionals.
#include "api/network/control_fields.h"

#include <algorithm>

namespace tenon::api
{

namespace
{
Error wrong(Inputs const& in, std::string_view kind, std::string const& why)
{
    return badConfig("layer '{}' ({}): {}", in.layerName(), kind, why);
}

//! The condition as 0 or 1, when it is known before the run.
std::optional<ShapeExpr> conditionOf(Inputs const& in)
{
    std::optional<Shape> const values = in.values(2);
    return values && values->size() == 1 ? std::optional{values->front()} : std::nullopt;
}
} // namespace

Result<TensorType> IteratorFields::infer(Inputs const& in) const
{
    TensorType type = in.type(0);
    if (axis < 0 || axis >= type.rank())
        return wrong(in, kName, fmt::format("tensor '{}' is {} and has no axis {}", in[0].name, type.show(), axis));
    type.shape.erase(type.shape.begin() + axis);
    return type;
}

Result<std::vector<TensorType>> TripLimitFields::infer(Inputs const& in) const
{
    TensorType const& type = in.type(0);
    bool const isCount = limit == nvinfer1::TripLimit::kCOUNT;
    bool const fits = isCount ? type.dtype == DType::kINT32 || type.dtype == DType::kINT64 : type.dtype == DType::kBOOL;
    if (!fits || type.rank() != 0)
        return wrong(in, kName,
            fmt::format("tensor '{}' is {}: {} is a 0-D {}", in[0].name, type.show(), isCount ? "kCOUNT" : "kWHILE",
                isCount ? "int32 or int64" : "bool"));
    return std::vector<TensorType>{};
}

Result<TensorType> LoopOutputFields::infer(Inputs const& in) const
{
    TensorType type = in.type(0);
    if (!isJoined())
        return type;
    if (axis < 0 || axis > type.rank() || type.rank() >= nvinfer1::Dims64::MAX_DIMS)
        return wrong(in, kName, fmt::format("values of {} cannot be joined along a new axis {}", type.show(), axis));
    ShapeExpr length;
    if (!in.has(1))
        length = in.dataExtent(0, INT64_MAX); // It may be set later.
    else if (std::optional<Shape> const values = in.values(1); values && values->size() == 1)
        length = values->front();
    else
        return wrong(in, kName,
            fmt::format("input 1 '{}' is {}, which is no 0-D shape tensor: how many rounds it holds must be known "
                        "before the run",
                in[1].name, in.type(1).show()));
    type.shape.insert(type.shape.begin() + axis, length);
    return type;
}

Result<std::vector<TensorType>> ConditionFields::infer(Inputs const& in) const
{
    if (in.type(0).dtype != DType::kBOOL || in.type(0).rank() != 0)
        return wrong(
            in, kName, fmt::format("tensor '{}' is {}: a condition is a 0-D bool", in[0].name, in.type(0).show()));
    return std::vector<TensorType>{};
}

Result<TensorType> ConditionalOutputFields::infer(Inputs const& in) const
{
    TensorType const& a = in.type(0);
    TensorType const& b = in.type(1);
    std::optional<ShapeExpr> const condition = conditionOf(in);
    if (condition && condition->isConstant())
        return *condition->constant() != 0 ? a : b;
    if (a.dtype != b.dtype || a.rank() != b.rank())
        return wrong(in, kName,
            fmt::format("it is {} ('{}') where the condition is true, else {} ('{}'): both must have one type and one "
                        "rank",
                a.show(), in[0].name, b.show(), in[1].name));
    TensorType type{a.dtype, {}};
    int32_t told{0};
    for (size_t i = 0; i < a.shape.size(); ++i)
        if (a.shape[i] == b.shape[i])
            type.shape.push_back(a.shape[i]);
        else if (condition)
            type.shape.push_back(select(*condition, a.shape[i], b.shape[i]));
        else
            type.shape.push_back(in.dataExtent(told++, max(a.shape[i], b.shape[i])));
    return type;
}

std::optional<Shape> ConditionalOutputFields::contents(Inputs const& in) const
{
    std::optional<ShapeExpr> const condition = conditionOf(in);
    std::optional<Shape> const a = in.values(0);
    std::optional<Shape> const b = in.values(1);
    if (condition && condition->isConstant())
        return *condition->constant() != 0 ? a : b;
    if (!condition || !a || !b || a->size() != b->size() || hasReal(*a) || hasReal(*b))
        return std::nullopt;
    Shape chosen;
    for (size_t i = 0; i < a->size(); ++i)
        chosen.push_back(select(*condition, (*a)[i], (*b)[i]));
    return chosen;
}

} // namespace tenon::api
