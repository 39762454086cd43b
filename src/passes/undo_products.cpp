// undo-product-terms: bias and factor of a product become layers behind it again.
#include "layers/element_wise.h"
#include "layers/matrix_multiply.h"
#include "passes/rules.h"
#include "passes/shuffles.h"

namespace tenon::passes
{

using nvinfer1::ElementWiseOperation;

Rewrite undoProductTerms(Graph const& graph, Node const& node)
{
    MatrixMultiply const* const product = as<MatrixMultiply>(*node.layer);
    bool const hasBias = node.input(2) != kNone;
    if (product == nullptr || (product->alpha == 1.0F && !hasBias))
        return skip();
    if (!product->epilogue.empty())
        return skip("its epilogue comes behind them"); // Another rule undoes that first.
    TensorType const& type = graph.typeOf(node.output());
    MatrixMultiply plain = *product;
    plain.alpha = 1.0F;
    Patch patch{graph, node};
    ValueId result = patch.add(std::move(plain), {node.input(0), node.input(1)});
    if (product->alpha != 1.0F)
        result = patch.add(ElementWise{ElementWiseOperation::kPROD},
            {result, patch.constant("alpha", splat(type.dtype, type.shape.size(), product->alpha))});
    if (hasBias)
    {
        Shape const& columns = graph.typeOf(node.input(2)).shape;
        Shape row(type.shape.size() - columns.size(), ShapeExpr{1});
        row.insert(row.end(), columns.begin(), columns.end());
        std::optional<Shuffle> const reshape = reshapeTo(columns, row);
        if (!reshape)
            return skip("the bias cannot be reshaped to a row");
        result = patch.add(ElementWise{ElementWiseOperation::kSUM}, {result, patch.add(*reshape, {node.input(2)})});
    }
    patch.replace(node.output(), result);
    return patch;
}

} // namespace tenon::passes
