// Proposals for layers that move elements.
#include "random/proposals.h"

#include <fmt/ranges.h>

#include <numeric>

namespace tenon::test
{

namespace
{
Written const* anyRanked(Author& author, size_t least, size_t most)
{
    return author.any(
        [&](Written const& x) { return x.rank() >= least && x.rank() <= most && x.type.dtype != DType::kFP8; });
}

size_t anyAxis(Author& author, Written const& x)
{
    return static_cast<size_t>(author.draw(0, static_cast<int64_t>(x.rank()) - 1));
}

//! Different positions below an extent, in no order.
std::vector<double> positions(Author& author, int64_t extent, int64_t count)
{
    std::vector<double> all(static_cast<size_t>(extent));
    std::iota(all.begin(), all.end(), 0.0);
    for (size_t i = all.size(); i > 1; --i)
        std::swap(all[i - 1], all[static_cast<size_t>(author.draw(0, static_cast<int64_t>(i) - 1))]);
    all.resize(static_cast<size_t>(count));
    return all;
}

std::string orderOf(Author& author, size_t rank)
{
    std::vector<double> const drawn = positions(author, static_cast<int64_t>(rank), static_cast<int64_t>(rank));
    std::vector<int64_t> order{drawn.begin(), drawn.end()};
    for (size_t i = rank; i < 8; ++i)
        order.push_back(static_cast<int64_t>(i));
    return fmt::format("[{}]", fmt::join(order, ","));
}

DType anyIndexType(Author& author)
{
    return author.chance(50) ? DType::kINT32 : DType::kINT64;
}
} // namespace

bool proposeIdentity(Author& author)
{
    Written const* x = anyRanked(author, 0, 8);
    return x != nullptr && author.node("Identity", {x->name});
}

bool proposeConcatenation(Author& author)
{
    Written const* x = anyRanked(author, 1, 6);
    if (x == nullptr)
        return false;
    size_t const axis = anyAxis(author, *x);
    std::vector<std::string> operands{x->name};
    for (int64_t more = author.draw(1, 2); more > 0; --more)
    {
        if (!x->isStatic() || !x->isReal() || author.chance(50))
        {
            operands.push_back(anyLike(author, *x).name);
            continue;
        }
        std::vector<int64_t> extents = x->known.value.extents;
        extents[axis] = author.draw(1, 4);
        operands.push_back(author.wholeConstant(x->type.dtype, extents, -3, 3));
    }
    return author.node("Concatenation", operands, fmt::format("Axis={}", axis));
}

bool proposeShuffle(Author& author)
{
    Written const* x = anyRanked(author, 1, 6);
    if (x == nullptr)
        return false;
    if (author.chance(50))
        return author.node("Shuffle", {x->name}, "FirstTranspose=" + orderOf(author, x->rank()));
    size_t const at = anyAxis(author, *x);
    std::vector<int64_t> dims;
    for (size_t axis = 0; axis < x->rank(); ++axis)
    {
        int64_t const extent = x->extent(axis);
        if (axis == at && x->isStatic(axis) && extent % 2 == 0 && author.chance(60))
            dims.insert(dims.end(), {2, extent / 2});
        else if (axis == at && axis + 1 < x->rank())
            dims.push_back(-1), ++axis;
        else
            dims.push_back(dims.size() == axis ? 0 : x->isStatic(axis) ? extent : -1);
    }
    std::string fields = "ReshapeDimensions=" + listed(dims);
    if (author.chance(30))
        fields += ", SecondTranspose=" + orderOf(author, dims.size());
    return author.node("Shuffle", {x->name}, fields);
}

bool proposeSlice(Author& author)
{
    Written const* x = anyRanked(author, 1, 6);
    if (x == nullptr)
        return false;
    std::vector<int64_t> axes;
    std::vector<int64_t> start;
    std::vector<int64_t> size;
    std::vector<int64_t> stride;
    int64_t const mode = author.chance(60) ? 0 : author.draw(1, 4);
    for (size_t axis = 0; axis < x->rank(); ++axis)
    {
        int64_t const extent = x->extent(axis);
        if (!x->isStatic(axis) || extent == 0 || author.chance(40))
            continue;
        axes.push_back(static_cast<int64_t>(axis));
        if (mode != 0)
        {
            start.push_back(author.draw(-2, extent - 1));
            size.push_back(author.draw(1, extent + 2));
            stride.push_back(author.draw(1, 2));
            continue;
        }
        int64_t const step = author.draw(1, 3) * (author.chance(30) ? -1 : 1);
        int64_t const first = author.draw(0, extent - 1);
        start.push_back(first);
        stride.push_back(step);
        size.push_back(author.draw(1, step > 0 ? (extent - 1 - first) / step + 1 : first / -step + 1));
    }
    if (axes.empty())
        return false;
    return author.node("Slice", {x->name},
        fmt::format("Start={}, Size={}, Stride={}, Mode={}, Axes={}", listed(start), listed(size), listed(stride), mode,
            listed(axes)));
}

bool proposePadding(Author& author)
{
    Written const* x = anyReal(author, 4, 4);
    if (x == nullptr)
        return false;
    return author.node("Padding", {x->name},
        fmt::format("PrePaddingNd={}, PostPaddingNd={}", listed({author.draw(0, 2), author.draw(0, 2)}),
            listed({author.draw(0, 2), author.draw(-1, 2)})));
}

bool proposeSqueeze(Author& author)
{
    Written const* x = anyRanked(author, 1, 8);
    if (x == nullptr)
        return false;
    size_t const axis = anyAxis(author, *x);
    return x->isStatic(axis) && x->extent(axis) == 1
        && author.node(
            "Squeeze", {x->name, author.listConstant(anyIndexType(author), {1}, {static_cast<double>(axis)})});
}

bool proposeUnsqueeze(Author& author)
{
    Written const* x = anyRanked(author, 0, 5);
    if (x == nullptr)
        return false;
    auto const axis = static_cast<double>(author.draw(0, static_cast<int64_t>(x->rank())));
    return author.node("Unsqueeze", {x->name, author.listConstant(anyIndexType(author), {1}, {axis})});
}

bool proposeShape(Author& author)
{
    Written const* x = anyRanked(author, 1, 8);
    return x != nullptr && author.node("Shape", {x->name});
}

bool proposeGather(Author& author)
{
    Written const* x = anyRanked(author, 1, 5);
    if (x == nullptr)
        return false;
    int64_t const mode = author.draw(0, 3);
    size_t const axis = anyAxis(author, *x);
    int64_t const extent = x->extent(axis);
    if (extent == 0 || !x->isStatic(axis))
        return false;
    if (mode == 1)
    {
        std::vector<int64_t> extents = x->known.value.extents;
        extents[axis] = author.draw(1, 4);
        return x->isStatic()
            && author.node("Gather",
                {x->name, author.wholeConstant(anyIndexType(author), extents, -extent, extent - 1)},
                fmt::format("GatherAxis={}, Mode=1", axis));
    }
    if (mode == 2)
    {
        if (!x->isStatic(0))
            return false;
        return author.node("Gather",
            {x->name, author.wholeConstant(anyIndexType(author), {author.draw(1, 4), 1}, 0, x->extent(0) - 1)},
            "Mode=2");
    }
    Written const* indices = author.any(
        [](Written const& each) { return each.isIndex() && each.rank() <= 2 && each.known.value.count() < 9; });
    std::vector<int64_t> extents;
    for (int64_t rank = author.draw(0, 2); rank > 0; --rank)
        extents.push_back(author.draw(1, 4));
    std::string const from = indices != nullptr && author.chance(50)
        ? indices->name
        : author.wholeConstant(anyIndexType(author), extents, -extent, extent - 1);
    return author.node("Gather", {x->name, from}, fmt::format("GatherAxis={}", axis));
}

bool proposeScatter(Author& author)
{
    Written const* x = author.any(
        [](Written const& each) { return each.isReal() && each.isStatic() && each.rank() > 0 && each.rank() < 5; });
    if (x == nullptr || x->known.value.count() == 0)
        return false;
    bool const isElement = author.chance(50);
    size_t const axis = isElement ? anyAxis(author, *x) : 0;
    int64_t const count = author.draw(1, x->extent(axis));
    std::vector<double> const drawn = positions(author, x->extent(axis), count);
    std::vector<int64_t> extents = x->known.value.extents;
    extents[axis] = count;
    if (!isElement)
        return author.node("Scatter",
            {x->name, author.listConstant(anyIndexType(author), {count, 1}, drawn),
                author.randomConstant(x->type.dtype, extents)},
            "Mode=1");
    std::vector<double> indices;
    std::vector<int64_t> const strides = stridesOf(extents);
    for (int64_t i = 0; i < volumeOf(extents); ++i)
        indices.push_back(drawn[static_cast<size_t>(i / strides[axis] % count)]);
    return author.node("Scatter",
        {x->name, author.listConstant(anyIndexType(author), extents, indices),
            author.randomConstant(x->type.dtype, extents)},
        fmt::format("Axis={}", axis));
}

bool proposeOneHot(Author& author)
{
    Written const* x = author.any([](Written const& each) { return each.isIndex() && each.rank() < 4; });
    if (x == nullptr)
        return false;
    return author.node("OneHot",
        {x->name, author.listConstant(author.realType(), {2}, {-0.5, 1.5}),
            scalarOf(author, DType::kINT32, author.draw(2, 6))},
        fmt::format("Axis={}", author.draw(-1, static_cast<int64_t>(x->rank()))));
}

bool proposeNonZero(Author& author)
{
    Written const* x = anyRanked(author, 1, 4);
    if (x == nullptr)
        return false;
    return author.node("NonZero", {x->name}, fmt::format("IndicesType={}", static_cast<int32_t>(anyIndexType(author))));
}

bool proposeReverseSequence(Author& author)
{
    Written const* x = anyRanked(author, 2, 4);
    if (x == nullptr || !x->isStatic(1) || !x->isStatic(0))
        return false;
    auto const batch = static_cast<size_t>(author.draw(0, 1));
    size_t const sequence = 1 - batch;
    return author.node("ReverseSequence",
        {x->name, author.wholeConstant(anyIndexType(author), {x->extent(batch)}, 0, x->extent(sequence))},
        fmt::format("BatchAxis={}, SequenceAxis={}", batch, sequence));
}

bool proposeKVCacheUpdate(Author& author)
{
    Written const* x =
        author.any([](Written const& each) { return each.isReal() && each.rank() == 4 && each.isStatic(); });
    if (x == nullptr || x->extent(2) == 0)
        return false;
    std::vector<int64_t> extents = x->known.value.extents;
    extents[2] = author.draw(1, x->extent(2));
    return author.node("KVCacheUpdate",
        {x->name, author.randomConstant(x->type.dtype, extents),
            author.wholeConstant(anyIndexType(author), {x->extent(0)}, -1, x->extent(2))});
}

bool proposeFill(Author& author)
{
    Written const* like = author.any([](Written const& each) { return each.rank() > 0 && !each.isStatic(); });
    if (like != nullptr && author.chance(60)) // Extents that a run tells, and steps along each axis.
    {
        auto const rank = static_cast<int64_t>(like->rank());
        if (!author.node("Shape", {like->name}))
            return false;
        DType const of = author.chance(70) ? author.realType() : DType::kINT32;
        return author.node("Fill",
            {author.made().name, scalarOf(author, of, author.draw(-3, 3)), author.wholeConstant(of, {rank}, -2, 3)},
            fmt::format("ToType={}", static_cast<int32_t>(of)));
    }
    DType const type = author.chance(60) ? author.realType() : anyIndexType(author);
    std::string const numbers = isFloating(type)
        ? fmt::format(
            "Alpha={}, Beta={}", static_cast<float>(author.real(-2.0, 2.0)), static_cast<float>(author.real(-1.0, 1.0)))
        : fmt::format("AlphaInt64={}, BetaInt64={}, AlphaBetaInt64=true", author.draw(-3, 3), author.draw(-2, 2));
    return author.node("Fill", {},
        fmt::format("Dimensions=({}), {}, ToType={}", author.draw(0, 12), numbers, static_cast<int32_t>(type)));
}

} // namespace tenon::test
