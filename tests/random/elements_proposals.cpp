// Proposals for functions of single elements and for what is computed along axes.
#include "random/proposals.h"

#include <fmt/ranges.h>

namespace tenon::test
{

bool proposeActivation(Author& author)
{
    Written const* x = anyReal(author, 0, 8);
    if (x == nullptr)
        return false;
    double const alpha = author.real(0.05, 1.0);
    double const beta = author.real(1.0, 3.0);
    int64_t const type = author.draw(0, 13);
    return author.node("Activation", {x->name},
        fmt::format("ActivationType={}, Alpha={}, Beta={}", type, static_cast<float>(type == 8 ? -alpha : alpha),
            static_cast<float>(beta)));
}

bool proposeUnary(Author& author)
{
    static constexpr int64_t kOfIntegers[]{4, 5, 21};
    bool const isWhole = author.chance(15);
    Written const* x = author.any([&](Written const& each) {
        return isWhole ? each.isIndex() || each.type.dtype == DType::kINT8 : each.isReal();
    });
    if (x == nullptr)
        return false;
    int64_t operation = author.draw(0, 24);
    if (isWhole)
        operation = kOfIntegers[author.draw(0, 2)];
    return operation != 20 && author.node("Unary", {x->name}, fmt::format("Operation={}", operation));
}

bool proposeElementWise(Author& author)
{
    static constexpr int64_t kOperations[]{0, 0, 1, 1, 2, 3, 4, 4, 5, 6, 7};
    Written const* x = anyReal(author, 0, 8);
    if (x == nullptr)
        return false;
    std::string other = anyLike(author, *x).name;
    if (author.chance(50))
    {
        std::vector<int64_t> const extents = broadcastExtents(author, *x);
        other = author.chance(50) ? author.randomConstant(x->type.dtype, extents)
                                  : author.wholeConstant(x->type.dtype, extents, 1, 3);
    }
    std::vector<std::string> operands{x->name, other};
    if (author.chance(20))
        std::swap(operands[0], operands[1]);
    return author.node("ElementWise", operands, fmt::format("Operation={}", kOperations[author.draw(0, 10)]));
}

bool proposeIntegers(Author& author)
{
    static constexpr int64_t kOperations[]{0, 1, 2, 3, 4, 5, 7, 8, 9, 10};
    Written const* x = author.any([](Written const& each) { return each.isIndex(); });
    if (x == nullptr)
        return false;
    bool const isLike = author.chance(40);
    int64_t const operation = isLike ? author.draw(0, 4) : kOperations[author.draw(0, 9)];
    std::string const other =
        isLike ? anyLike(author, *x).name : author.wholeConstant(x->type.dtype, broadcastExtents(author, *x), 1, 5);
    return author.node("ElementWise", {x->name, other}, fmt::format("Operation={}", operation));
}

bool proposeLogic(Author& author)
{
    Written const* x = author.any([](Written const& each) { return each.type.dtype == DType::kBOOL; });
    if (x != nullptr && author.chance(50))
    {
        if (author.chance(30))
            return author.node("Unary", {x->name}, "Operation=20");
        return author.node(
            "ElementWise", {x->name, anyLike(author, *x).name}, fmt::format("Operation={}", author.draw(8, 11)));
    }
    x = author.any([](Written const& each) { return each.isReal() || each.isIndex(); });
    if (x == nullptr)
        return false;
    std::string const other = author.chance(40)
        ? anyLike(author, *x).name
        : author.wholeConstant(x->type.dtype, broadcastExtents(author, *x), -1, 2);
    return author.node("ElementWise", {x->name, other}, fmt::format("Operation={}", author.draw(11, 13)));
}

bool proposeSelect(Author& author)
{
    Written const* condition = author.any([](Written const& each) { return each.type.dtype == DType::kBOOL; });
    if (condition == nullptr)
        return false;
    std::string const shape = show(condition->type.shape);
    Written const* x = author.any(
        [&](Written const& each) { return show(each.type.shape) == shape && each.type.dtype != DType::kBOOL; });
    if (x == nullptr)
        return false;
    std::string const other = author.chance(50)
        ? anyLike(author, *x).name
        : author.wholeConstant(x->type.dtype, broadcastExtents(author, *x), -2, 2);
    return author.node("Select", {condition->name, x->name, other});
}

bool proposeParametricReLU(Author& author)
{
    Written const* x = anyReal(author, 1, 5);
    if (x == nullptr)
        return false;
    return author.node("ParametricReLU", {x->name, author.randomConstant(x->type.dtype, broadcastExtents(author, *x))});
}

bool proposeScale(Author& author)
{
    Written const* x = anyReal(author, 2, 5);
    if (x == nullptr)
        return false;
    int64_t const mode = author.draw(0, 2);
    std::vector<int64_t> extents(x->rank(), 1);
    for (size_t axis = 1; axis < x->rank(); ++axis)
        if (mode == 2 || (mode == 1 && axis == 1))
            extents[axis] = x->isStatic(axis) ? x->extent(axis) : 1;
    bool const hasShift = author.chance(70);
    bool const hasScale = author.chance(70);
    bool const hasPower = author.chance(20);
    std::vector<std::string> operands{x->name};
    operands.push_back(hasShift ? author.randomConstant(x->type.dtype, extents) : "_");
    operands.push_back(hasScale ? author.randomConstant(x->type.dtype, extents) : "_");
    operands.push_back(hasPower ? author.wholeConstant(x->type.dtype, std::vector<int64_t>(x->rank(), 1), 2, 3) : "_");
    return author.node("Scale", operands,
        fmt::format("Mode={}, hasShift={}, hasScale={}, hasPower={}", mode, hasShift, hasScale, hasPower));
}

bool proposeCast(Author& author)
{
    static constexpr DType kTypes[]{DType::kFLOAT, DType::kFLOAT, DType::kHALF, DType::kBF16, DType::kINT32,
        DType::kINT64, DType::kBOOL, DType::kINT8, DType::kUINT8};
    Written const* x = author.any([](Written const& each) { return each.type.dtype != DType::kFP8; });
    if (x == nullptr)
        return false;
    DType const to = kTypes[author.draw(0, 8)];
    bool const isOutside =
        to == DType::kUINT8 && std::ranges::any_of(x->known.value.reals, [](double each) { return each <= -1.0; });
    bool const isFromSmall = x->type.dtype == DType::kINT8 || x->type.dtype == DType::kUINT8;
    if (isOutside || (isFromSmall && !isFloating(to)))
        return false; // What becomes of numbers that a type has not is no part of the layer's meaning.
    return author.node("Cast", {x->name}, fmt::format("ToType={}", static_cast<int32_t>(to)));
}

bool proposeSoftMax(Author& author)
{
    Written const* x = anyReal(author, 1, 6);
    if (x == nullptr)
        return false;
    return author.node(
        "SoftMax", {x->name}, fmt::format("Axes={}", 1 << author.draw(0, static_cast<int64_t>(x->rank()) - 1)));
}

bool proposeReduce(Author& author)
{
    bool const isReal = author.chance(85);
    Written const* x =
        author.any([&](Written const& each) { return (isReal ? each.isReal() : each.isIndex()) && each.rank() > 0; });
    if (x == nullptr)
        return false;
    return author.node("Reduce", {x->name},
        fmt::format("Operation={}, ReduceAxes={}, KeepDimensions={}", author.draw(0, isReal ? 4 : 3),
            author.draw(1, (1 << x->rank()) - 1), author.chance(60)));
}

bool proposeCumulative(Author& author)
{
    Written const* x =
        author.any([](Written const& each) { return (each.isReal() || each.isIndex()) && each.rank() > 0; });
    if (x == nullptr)
        return false;
    int64_t const axis = author.draw(0, static_cast<int64_t>(x->rank()) - 1);
    return author.node("Cumulative", {x->name, scalarOf(author, DType::kINT32, axis)},
        fmt::format("Exclusive={}, Reverse={}", author.chance(40), author.chance(40)));
}

bool proposeNormalization(Author& author)
{
    Written const* x = anyReal(author, 2, 5);
    if (x == nullptr)
        return false;
    auto const rank = static_cast<int64_t>(x->rank());
    int64_t groups{1};
    std::vector<int64_t> extents = broadcastExtents(author, *x, 70);
    int64_t axes = author.draw(1, (1 << rank) - 1);
    if (rank >= 3 && x->isStatic(1) && x->extent(1) % 2 == 0 && author.chance(40))
    {
        groups = 2;
        axes = ((1 << rank) - 1) & ~3;
        extents = std::vector<int64_t>(x->rank(), 1);
        extents[1] = x->extent(1);
    }
    std::vector<std::string> operands{x->name, author.randomConstant(x->type.dtype, extents)};
    if (author.chance(70))
        operands.push_back(author.randomConstant(x->type.dtype, extents));
    return author.node("Normalization", operands,
        fmt::format("Epsilon=0.01, Axes={}, NbGroups={}{}", axes, groups, groups > 1 ? ", V2=true" : ""));
}

bool proposeLRN(Author& author)
{
    Written const* x = anyReal(author, 3, 5);
    if (x == nullptr)
        return false;
    return author.node("LRN", {x->name},
        fmt::format("WindowSize={}, Alpha={}, Beta=0.75, K={}", 2 * author.draw(0, 3) + 1,
            static_cast<float>(author.real(0.0, 1.0)), author.draw(1, 2)));
}

bool proposeRaggedSoftMax(Author& author)
{
    Written const* x = author.any([](Written const& each) {
        return each.type.dtype == DType::kFLOAT && (each.rank() == 2 || each.rank() == 3) && each.isStatic();
    });
    if (x == nullptr)
        return false;
    std::vector<int64_t> extents = x->known.value.extents;
    int64_t const length = extents.back();
    extents.back() = 1;
    return author.node("RaggedSoftMax", {x->name, author.wholeConstant(DType::kINT32, extents, 0, length)});
}

bool proposeTopK(Author& author)
{
    Written const* x =
        author.any([](Written const& each) { return (each.isReal() || each.isIndex()) && each.rank() > 0; });
    if (x == nullptr)
        return false;
    int64_t const rank = static_cast<int64_t>(x->rank());
    int64_t const axis = author.draw(std::max<int64_t>(rank - 4, 0), rank - 1);
    int64_t const most = x->isStatic(static_cast<size_t>(axis)) ? x->extent(static_cast<size_t>(axis)) : 1;
    return most > 0
        && author.node("TopK", {x->name},
            fmt::format("Operation={}, K={}, ReduceAxes={}, IndicesType={}", author.draw(0, 1), author.draw(1, most),
                1 << axis, static_cast<int32_t>(author.chance(70) ? DType::kINT32 : DType::kINT64)),
            2);
}

bool proposeRemainder(Author& author)
{
    Written const* x = author.any([](Written const& each) { return each.isReal() && each.known.isExact(); });
    if (x == nullptr)
        return false;
    Written const& by = anyLike(author, *x);
    return author.node("Remainder", {x->name, by.name}, fmt::format("IsFloored={}", author.chance(50)));
}

//! Of real numbers, as bits of numbers mostly stand for none.
bool proposeBitCast(Author& author)
{
    Written const* x =
        author.any([](Written const& each) { return each.type.dtype == DType::kFLOAT && each.known.isExact(); });
    return x != nullptr
        && author.node("BitCast", {x->name}, fmt::format("ToType={}", static_cast<int32_t>(DType::kINT32)));
}

bool proposeByteScale(Author& author)
{
    Written const* x = author.any([](Written const& each) {
        bool const isReal =
            each.type.dtype == DType::kFLOAT || each.type.dtype == DType::kHALF || each.type.dtype == DType::kBF16;
        return isReal && each.known.isExact();
    });
    return x != nullptr && author.node("ByteScale", {x->name}, {}, 3);
}

bool proposeRowOrder(Author& author)
{
    Written const* x = author.any([](Written const& each) { return each.rank() == 2 && each.known.isExact(); });
    return x != nullptr && author.node("RowOrder", {x->name}, {}, 2);
}

namespace
{
std::string scaleOf(Author& author, DType type, std::vector<int64_t> const& extents)
{
    static constexpr double kScales[]{0.0625, 0.125, 0.05, 0.03, 0.25};
    std::vector<double> scales;
    for (int64_t i = 0; i < volumeOf(extents); ++i)
        scales.push_back(kScales[author.draw(0, 4)]);
    return extents.empty() ? author.constant(type, extents, fmt::format("{}", scales[0]))
                           : author.listConstant(type, extents, scales);
}

//! Quantized and dequantized; the name of the result, empty: it does not fit.
std::string rounded(Author& author, std::string const& x, DType type, DType to = DType::kINT8)
{
    static constexpr double kScales[]{0.0625, 0.05, 0.03};
    std::string const scale = fmt::format("{}", kScales[author.draw(0, 2)]);
    std::string const fields = fmt::format("Axis=-1, ToType={}", static_cast<int32_t>(to));
    if (!author.node("Quantize", {x, author.constant(type, {}, scale)}, fields))
        return {};
    std::string const number = author.made().name;
    if (!author.node("Dequantize", {number, author.constant(type, {}, scale)},
            fmt::format("ToType={}", static_cast<int32_t>(type))))
        return {};
    return author.made().name;
}
} // namespace

bool proposeQuantize(Author& author)
{
    Written const* x = anyReal(author, 1, 5);
    if (x == nullptr)
        return false;
    DType const type = x->type.dtype;
    if (author.chance(50))
        return !rounded(author, x->name, type, author.chance(85) ? DType::kINT8 : DType::kFP8).empty();
    auto const axis = static_cast<size_t>(author.draw(0, static_cast<int64_t>(x->rank()) - 1));
    if (!x->isStatic(axis))
        return false;
    std::vector<int64_t> const extents{x->extent(axis)};
    if (!author.node("Quantize", {x->name, scaleOf(author, type, extents)}, fmt::format("Axis={}", axis)))
        return false;
    std::string const number = author.made().name;
    return author.node("Dequantize", {number, scaleOf(author, type, extents)},
        fmt::format("Axis={}, ToType={}", axis, static_cast<int32_t>(type)));
}

bool proposeQuantizedProduct(Author& author)
{
    Written const* x = author.any(
        [](Written const& each) { return each.type.dtype == DType::kFLOAT && each.rank() >= 2 && each.rank() <= 5; });
    if (x == nullptr)
        return false;
    bool const isPicture = x->rank() >= 4 && author.chance(80);
    int64_t const depth = isPicture ? x->extent(1) : x->extent(x->rank() - 1);
    if (!x->isStatic(isPicture ? 1 : x->rank() - 1) || depth > 64)
        return false;
    auto const rank = static_cast<int64_t>(x->rank());
    std::string const input = rounded(author, x->name, DType::kFLOAT);
    if (input.empty())
        return false;
    bool const isDepthwise = isPicture && author.chance(25);
    int64_t const maps = isDepthwise ? depth : author.draw(1, 24);
    std::vector<int64_t> const window(isPicture ? static_cast<size_t>(rank - 2) : 0, author.chance(60) ? 3 : 1);
    std::vector<int64_t> kernel = isPicture ? std::vector<int64_t>{maps, isDepthwise ? 1 : depth}
                                            : std::vector<int64_t>(static_cast<size_t>(rank - 2), 1);
    if (!isPicture)
        kernel.insert(kernel.end(), {depth, maps});
    kernel.insert(kernel.end(), window.begin(), window.end());
    int64_t const axis = isPicture ? 0 : rank - 1;
    std::string const weights = author.wholeConstant(DType::kINT8, kernel, -127, 127);
    if (!author.node("Dequantize",
            {weights,
                author.listConstant(DType::kFLOAT, {maps}, std::vector<double>(static_cast<size_t>(maps), 0.004))},
            fmt::format("Axis={}", axis)))
        return false;
    std::string const real = author.made().name;
    if (!isPicture)
        return author.node("MatrixMultiply", {input, real});
    std::string const bias = author.randomConstant(DType::kFLOAT, {maps});
    std::vector<int64_t> const padding(window.size(), window[0] / 2);
    if (!author.node("Convolution", {input, real, bias},
            fmt::format("NbOutputMaps={}, KernelSizeNd={}, NbGroups={}, PrePadding={}, PostPadding={}", maps,
                listed(window), isDepthwise ? depth : 1, listed(padding), listed(padding))))
        return false;
    if (author.chance(60) && author.node("Activation", {author.made().name}))
        return !rounded(author, author.made().name, DType::kFLOAT).empty();
    return true;
}

//! Weights in blocks of eight, or a scale for each column.
bool proposeWeightOnlyProduct(Author& author)
{
    Written const* x = anyReal(author, 2, 3);
    if (x == nullptr || !x->isStatic(x->rank() - 1) || x->extent(x->rank() - 1) == 0)
        return false;
    DType const type = x->type.dtype;
    size_t const rank = x->rank();
    std::string input = x->name;
    int64_t depth = x->extent(rank - 1);
    if (depth % 8 != 0) // Make it whole eights.
    {
        std::vector<int64_t> extents(rank, 1);
        extents[rank - 2] = depth;
        extents[rank - 1] = depth = 8 * author.draw(1, 3);
        if (!author.node("MatrixMultiply", {input, author.randomConstant(type, extents)}))
            return false;
        input = author.made().name;
    }
    int64_t const columns = 2 * author.draw(1, 20);
    bool const isSmall = author.chance(60);
    std::string const weights = isSmall ? author.wholeConstant(DType::kINT4, {depth, columns}, -8, 7)
                                        : author.wholeConstant(DType::kINT8, {depth, columns}, -127, 127);
    bool const isBlocks = author.chance(50);
    int64_t const blocks = isBlocks ? depth / 8 : 1;
    std::vector<double> scales(static_cast<size_t>(blocks * columns));
    for (double& scale : scales)
        scale = static_cast<double>(author.draw(3, 9)) * (isSmall ? 0.0625 : 0.004) / 8.0;
    std::string const scale =
        author.listConstant(type, isBlocks ? std::vector{blocks, columns} : std::vector{columns}, scales);
    if (!author.node("Dequantize", {weights, scale},
            fmt::format("ToType={}{}", static_cast<int32_t>(type), isBlocks ? "" : ", Axis=1")))
        return false;
    std::string matrix = author.made().name;
    if (rank == 3)
    {
        if (!author.node("Shuffle", {matrix}, fmt::format("ReshapeDimensions=(1,{},{})", depth, columns)))
            return false;
        matrix = author.made().name;
    }
    return author.node("MatrixMultiply", {input, matrix});
}

} // namespace tenon::test
