// lower-einsum: an equation becomes diagonals, sums, transposes and products of matrices, operand after operand.
#include "layers/concatenation.h"
#include "layers/einsum.h"
#include "layers/element_wise.h"
#include "layers/identity.h"
#include "layers/matrix_multiply.h"
#include "layers/reduce.h"
#include "layers/shape.h"
#include "layers/shuffle.h"
#include "layers/slice.h"
#include "passes/rules.h"

#include <algorithm>
#include <map>

namespace tenon::passes
{

namespace
{
using Labels = std::vector<int32_t>;
using Groups = std::vector<Labels>; //!< Per axis, the labels whose extents it multiplies.

bool contains(Labels const& labels, int32_t label)
{
    return std::find(labels.begin(), labels.end(), label) != labels.end();
}

Groups oneEach(Labels const& labels)
{
    Groups groups;
    for (int32_t const label : labels)
        groups.push_back({label});
    return groups;
}

//! What is left to be multiplied: a value whose axes have these labels, each once.
struct Term
{
    ValueId value{kNone};
    Labels labels;
    std::map<int32_t, bool> isOne; //!< Its extent of a label is 1, that of the label is not.
};

class EinsumLowering
{
  public:
    EinsumLowering(Graph const& graph, Node const& node, EinsumLabels labels)
        : mGraph{graph},
          mNode{node},
          mLabels{std::move(labels)},
          mPatch{graph, node}
    {
    }

    Rewrite run()
    {
        if (char const* reason = findExtents())
            return skip(reason);
        std::vector<Term> terms;
        for (size_t i = 0; i < mLabels.operands.size(); ++i)
            terms.push_back(diagonal(i));
        for (size_t i = 0; i < terms.size(); ++i)
            sumAlone(terms[i], neededBut(terms, {i}));
        while (terms.size() > 1)
        {
            Labels const needed = neededBut(terms, {0, 1});
            Term product = multiplied(terms[0], terms[1], needed);
            terms.erase(terms.begin());
            terms.front() = std::move(product);
            if (mIsTooDeep)
                return skip("a product on the way has more axes than a tensor");
        }
        ValueId result = transposed(terms.front(), mLabels.output).value;
        if (result == mNode.input(0))
            result = mPatch.add(Identity{}, {result});
        mPatch.replace(mNode.output(), result);
        return std::move(mPatch);
    }

  private:
    //! Why the rule cannot do without knowing more; null: it can.
    char const* findExtents()
    {
        for (size_t i = 0; i < mLabels.operands.size(); ++i)
        {
            Shape const& shape = mGraph.typeOf(mNode.inputs[i]).shape;
            Labels seen;
            for (size_t axis = 0; axis < shape.size(); ++axis)
            {
                int32_t const label = mLabels.operands[i][axis];
                bool const isDiagonal = contains(seen, label);
                seen.push_back(label);
                if (shape[axis] == ShapeExpr{0})
                    return "an operand is empty";
                auto const known = mExtents.find(label);
                if (known != mExtents.end() && isDiagonal && !(known->second == shape[axis]))
                    return "the extents of a diagonal differ";
                if (isDiagonal && !shape[axis].isConstant())
                    return "the extent of a diagonal is not known";
                if (known != mExtents.end() && !(known->second == shape[axis]) && !(known->second == ShapeExpr{1})
                    && !(shape[axis] == ShapeExpr{1}))
                    return "whether an extent is broadcast is known only when it runs";
                if (known == mExtents.end() || known->second == ShapeExpr{1})
                {
                    mExtents[label] = shape[axis];
                    mOrigins[label] = {i, axis};
                }
            }
        }
        for (int32_t const label : mLabels.output)
            if (!mExtents.contains(label))
                return "the output has axes that no operand has";
        return nullptr;
    }

    //! Labels of the output and of all terms but those.
    Labels neededBut(std::vector<Term> const& terms, std::vector<size_t> const& without) const
    {
        Labels needed = mLabels.output;
        for (size_t i = 0; i < terms.size(); ++i)
            if (std::find(without.begin(), without.end(), i) == without.end())
                needed.insert(needed.end(), terms[i].labels.begin(), terms[i].labels.end());
        return needed;
    }

    //! The operand with each label once: of two axes of one label their diagonal is every (extent + 1)th element.
    Term diagonal(size_t operand)
    {
        Term term{mNode.inputs[operand], {}, {}};
        Labels labels = mLabels.operands[operand];
        for (size_t i = 0; i < labels.size(); ++i)
            while (std::count(labels.begin(), labels.end(), labels[i]) > 1)
            {
                auto const again =
                    std::find(labels.begin() + static_cast<std::ptrdiff_t>(i) + 1, labels.end(), labels[i]);
                if (again == labels.end())
                    break; // The one before it was the first.
                takeDiagonal(term.value, labels, i, static_cast<size_t>(again - labels.begin()));
                i = 0;
            }
        Shape const& shape = mGraph.typeOf(mNode.inputs[operand]).shape;
        for (size_t axis = 0; axis < mLabels.operands[operand].size(); ++axis)
        {
            int32_t const label = mLabels.operands[operand][axis];
            term.isOne[label] = shape[axis] == ShapeExpr{1} && !(mExtents.at(label) == ShapeExpr{1});
        }
        term.labels = std::move(labels);
        return term;
    }

    void takeDiagonal(ValueId& value, Labels& labels, size_t i, size_t k)
    {
        int32_t const label = labels[i];
        int64_t const extent = *mExtents.at(label).constant();
        AxisOrder order = kSameOrder;
        Labels rest;
        size_t at{0};
        for (size_t axis = 0; axis < labels.size(); ++axis)
            if (axis != i && axis != k)
            {
                order[at++] = static_cast<int32_t>(axis);
                rest.push_back(labels[axis]);
            }
        order[at] = static_cast<int32_t>(i);
        order[at + 1] = static_cast<int32_t>(k);
        value = mPatch.add(Shuffle::transpose(order), {value});
        Groups from = oneEach(rest);
        from.push_back({label});
        from.push_back({label});
        Groups to = oneEach(rest);
        to.push_back({label, label});
        value = reshaped(value, from, to);
        Slice slice;
        slice.start = nvinfer1::Dims{1, {0}};
        slice.size = nvinfer1::Dims{1, {extent}};
        slice.stride = nvinfer1::Dims{1, {extent + 1}};
        slice.axes = nvinfer1::Dims{1, {static_cast<int64_t>(rest.size())}};
        value = mPatch.add(std::move(slice), {value});
        // The diagonal's axis is the last one now; others of the label may follow.
        rest.push_back(label);
        labels = std::move(rest);
    }

    //! Sums over the labels that nobody else needs.
    void sumAlone(Term& term, Labels const& needed)
    {
        Reduce sum;
        Labels left;
        for (size_t axis = 0; axis < term.labels.size(); ++axis)
            if (contains(needed, term.labels[axis]))
                left.push_back(term.labels[axis]);
            else
                sum.reduceAxes |= 1U << axis;
        if (sum.reduceAxes != 0)
            term.value = mPatch.add(sum, {term.value});
        term.labels = std::move(left);
    }

    Term transposed(Term const& term, Labels const& labels)
    {
        AxisOrder order = kSameOrder;
        for (size_t axis = 0; axis < labels.size(); ++axis)
            order[axis] = static_cast<int32_t>(
                std::find(term.labels.begin(), term.labels.end(), labels[axis]) - term.labels.begin());
        Term result{term.value, labels, term.isOne};
        if (labels != term.labels)
            result.value = mPatch.add(Shuffle::transpose(order), {term.value});
        return result;
    }

    Term multiplied(Term a, Term b, Labels const& needed)
    {
        // A sum over an axis that one side broadcasts is the other side's own sum.
        for (int32_t const label : Labels{a.labels})
            if (contains(b.labels, label) && !contains(needed, label) && (a.isOne[label] || b.isOne[label]))
                for (Term* side : {&a, &b})
                {
                    Labels others = side->labels;
                    std::erase(others, label);
                    sumAlone(*side, others);
                }
        Labels batch;
        Labels summed;
        Labels rows;
        for (int32_t const label : a.labels)
            (!contains(b.labels, label) ? rows : contains(needed, label) ? batch : summed).push_back(label);
        Labels columns;
        for (int32_t const label : b.labels)
            if (!contains(a.labels, label))
                columns.push_back(label);
        constexpr size_t kMax{nvinfer1::Dims::MAX_DIMS};
        mIsTooDeep = batch.size() + std::max<size_t>(rows.size() + columns.size(), 2) > kMax;
        if (mIsTooDeep)
            return a;
        return summed.empty() ? byElement(a, b, batch, rows, columns) : byMatrix(a, b, batch, summed, rows, columns);
    }

    //! Whether a side's extent of a label that both have is broadcast: no more once they are multiplied.
    static Term joined(ValueId value, Labels labels, Term const& a, Term const& b)
    {
        Term result{value, std::move(labels), {}};
        for (int32_t const label : result.labels)
        {
            bool const isOneInA = !contains(a.labels, label) || a.isOne.at(label);
            bool const isOneInB = !contains(b.labels, label) || b.isOne.at(label);
            result.isOne[label] = isOneInA && isOneInB;
        }
        return result;
    }

    Term byElement(Term const& a, Term const& b, Labels const& batch, Labels const& rows, Labels const& columns)
    {
        auto const joinedLabels = [](Labels labels, Labels const& more) {
            labels.insert(labels.end(), more.begin(), more.end());
            return labels;
        };
        Labels labels = joinedLabels(joinedLabels(batch, rows), columns);
        // In the order of the output where this is the last product.
        if (labels.size() == mLabels.output.size()
            && std::is_permutation(labels.begin(), labels.end(), mLabels.output.begin()))
            labels = mLabels.output;
        auto const spread = [&](Term const& side) {
            Labels own;
            Groups to;
            for (int32_t const label : labels)
            {
                bool const has = contains(side.labels, label);
                if (has)
                    own.push_back(label);
                to.push_back(has ? Labels{label} : Labels{});
            }
            Term const ordered = transposed(side, own);
            return reshaped(ordered.value, groupsOf(ordered), withOnes(to, ordered));
        };
        ValueId const left = spread(a);
        ValueId const right = spread(b);
        ElementWise product;
        product.operation = nvinfer1::ElementWiseOperation::kPROD;
        return joined(mPatch.add(product, {left, right}), labels, a, b);
    }

    Term byMatrix(Term const& a, Term const& b, Labels const& batch, Labels const& summed, Labels const& rows,
        Labels const& columns)
    {
        auto const matrices = [&](Term const& side, Labels const& second, Labels const& third) {
            Labels order = batch;
            order.insert(order.end(), second.begin(), second.end());
            order.insert(order.end(), third.begin(), third.end());
            Term const ordered = transposed(side, order);
            Groups to = oneEach(batch);
            to.push_back(second);
            to.push_back(third);
            return reshaped(ordered.value, groupsOf(ordered), withOnes(to, ordered));
        };
        ValueId const left = matrices(a, rows, summed);
        ValueId const right = matrices(b, summed, columns);
        ValueId const product = mPatch.add(MatrixMultiply{}, {left, right});
        Labels labels = batch;
        labels.insert(labels.end(), rows.begin(), rows.end());
        labels.insert(labels.end(), columns.begin(), columns.end());
        Term result = joined(product, labels, a, b);
        Groups from = oneEach(batch);
        from.push_back(rows);
        from.push_back(columns);
        result.value = reshaped(product, withOnes(from, result), groupsOf(result));
        return result;
    }

    static Groups groupsOf(Term const& term)
    {
        return withOnes(oneEach(term.labels), term);
    }
    //! Labels whose extent is 1 in the term multiply nothing.
    static Groups withOnes(Groups groups, Term const& term)
    {
        for (Labels& group : groups)
            std::erase_if(group, [&](int32_t label) {
                auto const at = term.isOne.find(label);
                return at != term.isOne.end() && at->second;
            });
        return groups;
    }

    ShapeExpr extentOf(Labels const& group) const
    {
        ShapeExpr extent{1};
        for (int32_t const label : group)
            extent = extent * mExtents.at(label);
        return extent;
    }

    //! The same elements in axes of other groups; their order is the same.
    ValueId reshaped(ValueId value, Groups const& from, Groups const& to)
    {
        if (from == to)
            return value;
        std::vector<int64_t> extents;
        for (Labels const& group : to)
            extents.push_back(extentOf(group).constant().value_or(-1));
        if (std::count(extents.begin(), extents.end(), -1) <= 1)
            return mPatch.add(Shuffle::reshape(extents), {value});
        std::vector<ValueId> pieces;
        for (Labels const& group : to)
            pieces.push_back(extentTensor(group));
        Shuffle reshape;
        reshape.zeroIsPlaceholder = false;
        return mPatch.add(std::move(reshape), {value, mPatch.add(Concatenation{0}, std::move(pieces))});
    }

    //! A tensor [1] with the extent of a group of labels.
    ValueId extentTensor(Labels const& group)
    {
        if (std::optional<int64_t> const known = extentOf(group).constant())
            return numberTensor(*known);
        ValueId product{kNone};
        for (int32_t const label : group)
        {
            auto const [operand, axis] = mOrigins.at(label);
            Slice piece;
            piece.start = nvinfer1::Dims{1, {static_cast<int64_t>(axis)}};
            piece.size = nvinfer1::Dims{1, {1}};
            piece.stride = nvinfer1::Dims{1, {1}};
            ValueId const extent = mPatch.add(std::move(piece), {mPatch.add(ShapeLayer{}, {mNode.inputs[operand]})});
            ElementWise both;
            both.operation = nvinfer1::ElementWiseOperation::kPROD;
            product = product == kNone ? extent : mPatch.add(both, {product, extent});
        }
        return product;
    }

    ValueId numberTensor(int64_t number)
    {
        HostTensor host{DType::kINT64, {1}};
        host.setInteger(0, number);
        return mPatch.constant(fmt::format("{} extent {}", mNode.name, number), host.toConstant());
    }

    Graph const& mGraph;
    Node const& mNode;
    EinsumLabels mLabels;
    Patch mPatch;
    std::map<int32_t, ShapeExpr> mExtents;
    std::map<int32_t, std::pair<size_t, size_t>> mOrigins; //!< Operand and axis that have a label's extent.
    bool mIsTooDeep{false};
};
} // namespace

Rewrite lowerEinsum(Graph const& graph, Node const& node)
{
    auto const* layer = as<Einsum>(*node.layer);
    if (layer == nullptr)
        return skip();
    if (!isFloating(graph.typeOf(node.output()).dtype))
        return skip("products of matrices are of real numbers");
    std::vector<int32_t> ranks;
    for (ValueId const input : node.inputs)
        ranks.push_back(graph.typeOf(input).rank());
    Result<EinsumLabels> labels = layer->labels(ranks);
    if (!labels)
        return skip(labels.error().message);
    return EinsumLowering{graph, node, *std::move(labels)}.run();
}

} // namespace tenon::passes
