// checkShapes: inference with the extents of one run.
#include "backend/check_shapes.h"

#include <exception>

namespace tenon
{

namespace
{
constexpr int64_t kMostElements{int64_t{1} << 46};
constexpr int64_t kMostContents{256}; // Longer integer tensors are data, not shapes.

//! The operands as inference wants to see them; keeps what the views point at.
class ConcreteInputs
{
  public:
    explicit ConcreteInputs(ShapeCheck const& check)
        : mCheck{check}
    {
    }
    Result<Inputs> make()
    {
        size_t const count = mCheck.inputs.size();
        mTypes.resize(count);
        mContents.resize(count);
        mConstants.resize(count);
        std::vector<Input> views(count);
        for (size_t i = 0; i < count; ++i)
            if (mCheck.inputs[i].present || isValues(i))
                TENON_TRY(add(i, views[i]));
        return Inputs{std::move(views), std::string{mCheck.name}, &symbols, 0};
    }

    SymbolTable symbols;

  private:
    bool isValues(size_t i) const
    {
        return i < 32 && (mCheck.unread >> i & 1U) != 0 && isInteger(mCheck.inputs[i].dtype);
    }
    Result<Done> add(size_t i, Input& view)
    {
        TensorArg const& arg = mCheck.inputs[i];
        view.type = &mTypes[i];
        if (isValues(i))
        {
            mTypes[i] = {arg.dtype, {static_cast<int64_t>(arg.extents.size())}};
            mContents[i] = shapeOf(arg.extents);
            view.contents = &mContents[i];
            return Done{};
        }
        if (!arg.hasMemory)
            return badArgument("[layer '{}'] operand {} is read, but the plan gives only its values", mCheck.name, i);
        TENON_TRY(checkExtents(arg, mCheck.name));
        mTypes[i] = {arg.dtype, shapeOf(arg.extents)};
        WeightArg const* weight = i < mCheck.weights.size() ? &mCheck.weights[i] : nullptr;
        int64_t const elements = volumeOf(arg.extents);
        if (weight != nullptr && weight->data != nullptr && weight->packing.empty())
        {
            if (weight->bytes < static_cast<size_t>(bytesOf(arg.dtype, elements)) || weight->dtype != arg.dtype)
                return badArgument("weight {} does not have the size and type of operand {}", i, i);
            mConstants[i] = {arg.dtype, arg.extents, weight->data, nullptr};
            view.constant = &mConstants[i];
        }
        else if (isInteger(arg.dtype) && elements <= kMostContents)
        {
            for (int32_t k = 0; k < elements; ++k)
                mContents[i].push_back(ShapeExpr::symbol(
                    symbols.find(SymbolKind::kInputValue, static_cast<int32_t>(i), k, {}, {INT32_MIN, INT32_MAX})));
            view.contents = &mContents[i];
        }
        return Done{};
    }

    ShapeCheck const& mCheck;
    std::vector<TensorType> mTypes;
    std::vector<Shape> mContents;
    std::vector<Constant> mConstants;
};

Result<Done> compare(TensorType const& inferred, TensorArg const& given, SymbolTable const& symbols, size_t position)
{
    auto const mismatch = [&] {
        return badArgument("output {} is given as {} but the layer makes {}", position,
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
    ConcreteInputs concrete{check};
    Inputs const in = TENON_TRY(concrete.make());
    std::vector<TensorType> const types = TENON_TRY(check.layer.infer(in));
    if (types.size() != check.outputs.size())
        return badArgument("{} outputs are given where the layer makes {}", check.outputs.size(), types.size());
    for (size_t i = 0; i < types.size(); ++i)
    {
        TENON_TRY(checkExtents(check.outputs[i], check.name));
        TENON_TRY(compare(types[i], check.outputs[i], concrete.symbols, i));
    }
    return Done{};
}
} // namespace

Result<Done> checkExtents(TensorArg const& tensor, std::string_view name)
{
    int64_t volume{1};
    for (int64_t const extent : tensor.extents)
    {
        if (extent < 0 || extent > kMostElements)
            return badArgument("[layer '{}'] an extent of {}", name, extent);
        volume *= std::max<int64_t>(extent, 1);
        if (volume > kMostElements)
            return badArgument("[layer '{}'] a tensor of {}", name, show(shapeOf(tensor.extents)));
    }
    if (!isValid(tensor.dtype) || !isValid(tensor.layout))
        return badArgument("[layer '{}'] a tensor of unknown type or layout", name);
    return Done{};
}

Result<Done> checkShapes(ShapeCheck const& check)
{
    // Fields of a hostile plan can break promises that the builder's own never break; that is not our mistake then.
    try
    {
        Result<Done> result = checked(check);
        if (!result)
            return std::move(result).error().in(fmt::format("[layer '{}']", check.name));
        return Done{};
    }
    catch (std::exception const& problem)
    {
        return badArgument("[layer '{}'] its fields do not fit its operands: {}", check.name, problem.what());
    }
}

} // namespace tenon
