// checkShapes: inference with the extents of one run.
#include "backend/check_shapes.h"

#include "backend/candidate.h"
#include "ir/concrete_inputs.h"

#include <exception>

namespace tenon
{

namespace
{
constexpr int64_t kMaxContents{256}; // Longer integer tensors are data, not shapes.

//! What inference may know of operand i.
Result<Done> describe(ShapeCheck const& check, size_t i, ConcreteInputs& concrete)
{
    TensorArg const& arg = check.inputs[i];
    bool const isValues = isUnreadIn(check.unread, i) && isInteger(arg.dtype);
    if (isValues)
    {
        concrete.set(i, {arg.dtype, {static_cast<int64_t>(arg.extents.size())}}, arg.name);
        concrete.setContents(i, shapeOf(arg.extents));
        return Done{};
    }
    if (!arg.present)
        return Done{};
    TENON_TRY(checkExtents(arg));
    concrete.set(i, {arg.dtype, shapeOf(arg.extents)}, arg.name);
    WeightArg const* weight = i < check.weights.size() ? &check.weights[i] : nullptr;
    int64_t const elements = volumeOf(arg.extents);
    if (weight != nullptr && weight->data != nullptr && weight->packing.empty())
    {
        if (weight->bytes < static_cast<size_t>(bytesOf(arg.dtype, elements)) || weight->dtype != arg.dtype)
            return badArgument("weight {} '{}' does not have the size and type of its operand", i, arg.name);
        concrete.setConstant(i, {arg.dtype, arg.extents, weight->data, nullptr});
    }
    else if (isInteger(arg.dtype) && elements <= kMaxContents)
    {
        Shape contents;
        for (int32_t k = 0; k < elements; ++k)
            contents.push_back(ShapeExpr::symbol(concrete.symbols.find(
                SymbolKind::kInputValue, static_cast<int32_t>(i), k, {}, {INT32_MIN, INT32_MAX})));
        concrete.setContents(i, std::move(contents));
    }
    return Done{};
}

Result<Done> compare(TensorType const& inferred, TensorArg const& given, SymbolTable const& symbols, size_t position)
{
    auto const mismatch = [&] {
        return badArgument("output {} '{}' is given as {} but the layer makes {}", position, given.name,
            TensorType{given.dtype, shapeOf(given.extents)}.show(), inferred.show());
    };
    if (inferred.dtype != given.dtype || inferred.shape.size() != given.extents.size())
        return mismatch();
    for (size_t i = 0; i < given.extents.size(); ++i)
    {
        ShapeExpr const& extent = inferred.shape[i];
        if (extent.isConstant() ? *extent.constant() != given.extents[i] : given.extents[i] > extent.range(symbols).max)
            return mismatch();
    }
    return Done{};
}

Result<Done> checked(ShapeCheck const& check)
{
    ConcreteInputs concrete{check.inputs.size()}; // Unnamed: the runtime puts the layer before every error.
    for (size_t i = 0; i < check.inputs.size(); ++i)
        TENON_TRY(describe(check, i, concrete));
    std::vector<TensorType> const types = TENON_TRY(check.layer.infer(concrete.inputs()));
    if (types.size() != check.outputs.size())
        return badArgument("{} outputs are given where the layer makes {}", check.outputs.size(), types.size());
    for (size_t i = 0; i < types.size(); ++i)
    {
        TENON_TRY(checkExtents(check.outputs[i]));
        TENON_TRY(compare(types[i], check.outputs[i], concrete.symbols, i));
    }
    return Done{};
}
} // namespace

Result<Done> checkExtents(TensorArg const& tensor)
{
    if (!isAddressable(tensor.extents))
        return badArgument("tensor '{}' of {} has a negative extent or more than {} elements", tensor.name,
            show(shapeOf(tensor.extents)), kMaxTensorElements);
    if (!isValid(tensor.dtype) || !isValid(tensor.layout))
        return badArgument("tensor '{}' has an unknown type or layout", tensor.name);
    return Done{};
}

Result<Done> checkShapes(ShapeCheck const& check)
{
    // Fields of a hostile plan can break promises that the builder's own never break; that is not our mistake then.
    try
    {
        return checked(check);
    }
    catch (std::exception const& problem)
    {
        return badArgument("the layer's fields do not fit its operands: {}", problem.what());
    }
}

} // namespace tenon
