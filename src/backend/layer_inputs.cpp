// LayerInputs: views over problems and kernel arguments.
#include "backend/layer_inputs.h"

namespace tenon
{

Inputs inputsOf(Problem const& problem)
{
    std::vector<Input> views;
    for (ValueId const id : problem.node->inputs)
    {
        if (id == kNone)
        {
            views.push_back({});
            continue;
        }
        Value const& value = problem.graph->value(id);
        views.push_back({&value.type, value.contents ? &*value.contents : nullptr, value.constant.get(), value.name});
    }
    return Inputs{std::move(views), problem.node->name};
}

bool hasKnownContents(Problem const& problem, size_t input)
{
    if (!problem.hasInput(input))
        return true;
    Value const& value = problem.graph->value(problem.node->input(input));
    return value.contents.has_value() || (value.constant != nullptr && !isFloating(value.constant->dtype));
}

PreparedInputs::PreparedInputs(std::span<TensorArg const> args, uint32_t unread)
    : mTypes(args.size()),
      mContents(args.size()),
      mInputs{{}, "?"} // The runtime puts the layer before every error.
{
    std::vector<Input> views(args.size());
    for (size_t i = 0; i < args.size(); ++i)
    {
        bool const isValues = isUnreadIn(unread, i) && isInteger(args[i].dtype);
        if (!args[i].present && !isValues)
            continue;
        if (isValues)
        {
            mTypes[i] = {args[i].dtype, {static_cast<int64_t>(args[i].extents.size())}};
            mContents[i] = shapeOf(args[i].extents);
            views[i].contents = &mContents[i];
        }
        else
            mTypes[i] = {args[i].dtype, shapeOf(args[i].extents)};
        views[i].type = &mTypes[i];
    }
    mInputs = Inputs{std::move(views), "?"};
}

Result<std::vector<int64_t>> concrete(Shape const& shape)
{
    std::optional<std::vector<int64_t>> extents = staticExtents(shape);
    if (!extents)
        return badArgument("a shape that is still open when the kernel is prepared");
    return *std::move(extents);
}

int32_t movableBytes(DType type) noexcept
{
    int32_t const bits = bitsOf(type);
    return bits % 8 == 0 ? bits / 8 : 0;
}

} // namespace tenon
