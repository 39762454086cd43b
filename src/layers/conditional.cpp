// Conditional: rules, contents and the plain choice.
#include "layers/conditional.h"

#include "ir/graph.h"
#include "ir/run_body.h"
#include "layers/body_types.h"
#include "layers/check.h"

namespace tenon
{

namespace
{
TensorType const& outputType(Graph const& body, size_t position)
{
    return body.typeOf(body.outputs()[position].value);
}

//! The condition as a value 0 or 1, when it is known before the run.
std::optional<ShapeExpr> knownCondition(Inputs const& in)
{
    std::optional<Shape> const values = in.values(0);
    return values && values->size() == 1 ? std::optional{values->front()} : std::nullopt;
}

//! What is known of an output of a body, in terms that hold outside.
std::optional<Shape> contentsOutside(Graph const& body, size_t position)
{
    std::vector<Input> const views = body.viewsOf({body.outputs()[position].value});
    std::optional<Shape> known = Inputs{views, "?"}.values(0);
    return known && !hasReal(*known) && !isMadeInside(*known, body) ? std::move(known) : std::nullopt;
}
} // namespace

Result<std::vector<TensorType>> Conditional::infer(Inputs const& in) const
{
    if (bodies.size() != 2 || bodies[0]->outputs().size() != bodies[1]->outputs().size()
        || 1 + bodies[0]->inputs().size() + bodies[1]->inputs().size() != static_cast<size_t>(in.size()))
        return layerError(in, kName, "its branches do not fit its operands");
    TENON_TRY(Check(in, kName).input(0, in.has(0), "is missing: the condition").boolean(0).rank(0, 0).done());
    std::optional<ShapeExpr> const condition = knownCondition(in);
    std::vector<TensorType> types;
    int32_t told{0};
    for (size_t i = 0; i < bodies[0]->outputs().size(); ++i)
    {
        TensorType const& a = outputType(*bodies[0], i);
        TensorType const& b = outputType(*bodies[1], i);
        if (a.dtype != b.dtype || a.rank() != b.rank())
            return layerError(in, kName,
                fmt::format("output {} is {} ('{}') where the condition is true, else {} ('{}'): both must have one "
                            "type and one rank",
                    i, a.show(), bodies[0]->outputs()[i].name, b.show(), bodies[1]->outputs()[i].name));
        TensorType type{a.dtype, {}};
        for (size_t axis = 0; axis < a.shape.size(); ++axis)
        {
            bool const isOutside =
                !isMadeInside({a.shape[axis]}, *bodies[0]) && !isMadeInside({b.shape[axis]}, *bodies[1]);
            if (isOutside && a.shape[axis] == b.shape[axis])
                type.shape.push_back(a.shape[axis]);
            else if (isOutside && condition)
                type.shape.push_back(select(*condition, a.shape[axis], b.shape[axis]));
            else
                type.shape.push_back(in.dataExtent(
                    told++, max(boundOutside(a.shape[axis], *bodies[0]), boundOutside(b.shape[axis], *bodies[1]))));
        }
        types.push_back(std::move(type));
    }
    return types;
}

std::optional<Shape> Conditional::contents(Inputs const& in) const
{
    std::optional<ShapeExpr> const condition = knownCondition(in);
    if (!condition || bodies.size() != 2 || bodies[0]->outputs().empty() || bodies[1]->outputs().empty())
        return std::nullopt;
    std::optional<Shape> const a = contentsOutside(*bodies[0], 0);
    std::optional<Shape> const b = contentsOutside(*bodies[1], 0);
    if (!a || !b || a->size() != b->size())
        return std::nullopt;
    Shape chosen;
    for (size_t i = 0; i < a->size(); ++i)
        chosen.push_back(select(*condition, (*a)[i], (*b)[i]));
    return chosen;
}

Result<std::vector<HostTensor>> Conditional::reference(HostTensors const& in) const
{
    if (bodies.size() != 2 || in.empty() || in[0] == nullptr)
        return badArgument("a conditional lacks its condition or a branch");
    auto const middle = in.begin() + 1 + static_cast<std::ptrdiff_t>(bodies[0]->inputs().size());
    if (in[0]->integer(0) != 0)
        return runBody(*bodies[0], {in.begin() + 1, middle});
    return runBody(*bodies[1], {middle, in.end()});
}

} // namespace tenon
