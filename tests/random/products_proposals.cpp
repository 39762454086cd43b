// Proposals for products, windows, positions in space, sequences, and layers that run bodies.
#include "random/proposals.h"

#include <fmt/ranges.h>

#include <array>

namespace tenon::test
{

namespace
{
Written const* anyPicture(Author& author, size_t least, size_t most)
{
    return author.any([&](Written const& x) {
        return x.isReal() && x.rank() >= least && x.rank() <= most && x.isStatic(1) && x.extent(1) > 0;
    });
}

std::vector<int64_t> drawn(Author& author, size_t count, int64_t low, int64_t high)
{
    std::vector<int64_t> values(count);
    for (int64_t& value : values)
        value = author.draw(low, high);
    return values;
}
} // namespace

//! A tensor of the graph as the kernel of a convolution.
bool proposeRunTimeKernel(Author& author)
{
    constexpr int64_t kMost{4};
    Written const* const kernel = author.any([&](Written const& each) {
        bool isSmall = each.isReal() && each.isStatic() && each.rank() >= 3 && each.rank() <= 4;
        for (size_t axis = 2; isSmall && axis < each.rank(); ++axis)
            isSmall = each.extent(axis) >= 1 && each.extent(axis) <= kMost;
        return isSmall && each.extent(0) >= 1 && each.extent(1) >= 1;
    });
    if (kernel == nullptr)
        return false;
    Written const* const x = author.any([&](Written const& each) {
        bool fits = each.type.dtype == kernel->type.dtype && each.rank() == kernel->rank() && each.isStatic(1);
        for (size_t axis = 2; fits && axis < each.rank(); ++axis)
            fits = each.extent(axis) >= kernel->extent(axis);
        return fits && each.extent(1) % kernel->extent(1) == 0
            && kernel->extent(0) % (each.extent(1) / kernel->extent(1)) == 0;
    });
    if (x == nullptr || x->extent(1) == 0)
        return false;
    std::vector<int64_t> window;
    for (size_t axis = 2; axis < kernel->rank(); ++axis)
        window.push_back(kernel->extent(axis));
    return author.node("Convolution", {x->name, kernel->name},
        fmt::format("NbOutputMaps={}, KernelSizeNd={}, NbGroups={}, PrePadding={}", kernel->extent(0), listed(window),
            x->extent(1) / kernel->extent(1), listed(drawn(author, window.size(), 0, 1))));
}

bool proposeConvolution(Author& author)
{
    if (author.chance(20) && proposeRunTimeKernel(author))
        return true;
    Written const* x = author.chance(20) ? anyPicture(author, 5, 5) : nullptr; // Volumes are rare among what there is.
    if (x == nullptr)
        x = anyPicture(author, 3, 5);
    if (x == nullptr)
        return false;
    size_t const axes = x->rank() - 2;
    int64_t const channels = x->extent(1);
    int64_t const groups = author.chance(60) ? 1 : author.chance(60) ? channels : channels % 2 == 0 ? 2 : 1;
    int64_t const maps =
        groups == channels && author.chance(70) ? channels : groups * author.draw(1, groups == 1 ? 24 : 3);
    std::vector<int64_t> const window = author.chance(50) ? std::vector<int64_t>(axes, 3) : drawn(author, axes, 1, 3);
    std::vector<int64_t> kernel{maps, channels / groups};
    kernel.insert(kernel.end(), window.begin(), window.end());
    std::vector<std::string> operands{x->name, author.randomConstant(x->type.dtype, kernel)};
    if (author.chance(60))
        operands.push_back(author.randomConstant(x->type.dtype, {maps}));
    std::string fields = fmt::format("NbOutputMaps={}, KernelSizeNd={}, NbGroups={}, PrePadding={}, PostPadding={}",
        maps, listed(window), groups, listed(drawn(author, axes, 0, 1)), listed(drawn(author, axes, 0, 1)));
    if (author.chance(30))
        fields += ", StrideNd=" + listed(drawn(author, axes, 1, 2));
    if (author.chance(15))
        fields += ", DilationNd=" + listed(drawn(author, axes, 1, 2));
    return author.node("Convolution", operands, fields);
}

bool proposeDeconvolution(Author& author)
{
    Written const* x = anyPicture(author, 3, 5);
    if (x == nullptr)
        return false;
    size_t const axes = x->rank() - 2;
    int64_t const channels = x->extent(1);
    bool const isTiled = author.chance(40); // Windows side by side: kernels know those.
    int64_t const groups = !isTiled && channels % 2 == 0 && author.chance(30) ? 2 : 1;
    int64_t const maps = groups * author.draw(1, 6);
    std::vector<int64_t> const window = drawn(author, axes, 1, 3);
    std::vector<int64_t> kernel{channels, maps / groups};
    kernel.insert(kernel.end(), window.begin(), window.end());
    return author.node("Deconvolution",
        {x->name, author.randomConstant(x->type.dtype, kernel), author.randomConstant(x->type.dtype, {maps})},
        fmt::format("NbOutputMaps={}, KernelSizeNd={}, NbGroups={}, StrideNd={}, PrePadding={}, PostPadding={}", maps,
            listed(window), groups, listed(isTiled ? window : drawn(author, axes, 1, 2)),
            listed(drawn(author, axes, 0, isTiled ? 0 : 1)), listed(drawn(author, axes, 0, isTiled ? 0 : 1))));
}

bool proposePooling(Author& author)
{
    bool const isOfInt8 = author.chance(25);
    Written const* x = author.any([&](Written const& each) {
        return (isOfInt8 ? each.type.dtype == DType::kINT8 : each.isReal()) && each.rank() >= 3 && each.rank() <= 5;
    });
    if (x == nullptr)
        return false;
    size_t const axes = x->rank() - 2;
    return author.node("Pooling", {x->name},
        fmt::format("PoolingType={}, WindowSizeNd={}, StrideNd={}, PrePadding={}, PostPadding={}, "
                    "PaddingMode={}, BlendFactor=0.25, AverageCountExcludesPadding={}",
            isOfInt8 ? 0 : author.draw(0, 2), listed(drawn(author, axes, 2, 3)), listed(drawn(author, axes, 1, 2)),
            listed(drawn(author, axes, 0, 1)), listed(drawn(author, axes, 0, 1)), author.draw(0, 1),
            author.chance(50)));
}

bool proposeFullyConnected(Author& author)
{
    Written const* x = anyPicture(author, 4, 4);
    if (x == nullptr || !x->isStatic(2) || !x->isStatic(3))
        return false;
    int64_t const depth = x->extent(1) * x->extent(2) * x->extent(3);
    int64_t const outputs = author.draw(1, 8);
    if (depth == 0 || depth > 600)
        return false;
    return author.node("FullyConnected",
        {x->name, author.randomConstant(x->type.dtype, {outputs, depth}),
            author.randomConstant(x->type.dtype, {outputs})},
        fmt::format("NbOutputChannels={}", outputs));
}

bool proposeMatrixMultiply(Author& author)
{
    Written const* x = anyReal(author, 2, 4);
    if (x == nullptr)
        return false;
    if (author.chance(25)) // Of a tensor by itself.
    {
        bool const isLeft = author.chance(50);
        return author.node(
            "MatrixMultiply", {x->name, anyLike(author, *x).name}, isLeft ? "operation0=1" : "operation1=1");
    }
    bool const turns = author.chance(20);
    size_t const axis = x->rank() - (turns ? 2 : 1);
    if (!x->isStatic(axis) || x->extent(axis) == 0)
        return false;
    bool const isTransposed = author.chance(40);
    std::vector<int64_t> extents(x->rank(), 1);
    for (size_t i = 0; i + 2 < x->rank(); ++i)
        extents[i] = x->isStatic(i) && author.chance(30) ? x->extent(i) : 1;
    extents[x->rank() - 2] = x->extent(axis);
    extents[x->rank() - 1] = author.draw(1, 40);
    if (isTransposed)
        std::swap(extents[x->rank() - 1], extents[x->rank() - 2]);
    std::string const input = x->name;
    if (!author.node("MatrixMultiply", {input, author.randomConstant(x->type.dtype, extents)},
            fmt::format("operation0={}, operation1={}", turns ? 1 : 0, isTransposed ? 1 : 0)))
        return false;
    if (!author.chance(40))
        return true;
    std::vector<int64_t> bias(author.made().rank(), 1);
    bias.back() = author.made().known.value.extents.back();
    return author.node("ElementWise", {author.made().name, author.randomConstant(author.made().type.dtype, bias)});
}

bool proposeEinsum(Author& author)
{
    Written const* x = anyReal(author, 1, 4);
    if (x == nullptr)
        return false;
    std::string letters{"abcd"};
    letters.resize(x->rank());
    auto const axis = static_cast<size_t>(author.draw(0, static_cast<int64_t>(x->rank()) - 1));
    switch (author.draw(0, 3))
    {
    case 0: return author.node("Einsum", {x->name}, fmt::format("Equation=\"{}->{}\"", letters, letters[axis]));
    case 1:
        return author.node("Einsum", {x->name, anyLike(author, *x).name},
            fmt::format("Equation=\"{},{}->{}\"", letters, letters, letters[axis]));
    case 2:
        return author.node("Einsum", {x->name, anyLike(author, *x).name},
            fmt::format("Equation=\"{},{}->{}\"", letters, letters, letters));
    default: break;
    }
    if (!x->isStatic(axis))
        return false;
    std::string to = letters;
    to[axis] = 'z';
    return author.node("Einsum", {x->name, author.randomConstant(x->type.dtype, {x->extent(axis), author.draw(1, 8)})},
        fmt::format("Equation=\"{},{}z->{}\"", letters, letters[axis], to));
}

//! Products, maybe a mask, softmax, products: what passes make one layer of.
bool proposeAttention(Author& author)
{
    Written const* x = author.any([](Written const& each) { return each.isReal() && each.rank() == 4; });
    if (x == nullptr)
        return false;
    std::string const q = x->name;
    std::string const k = anyLike(author, *x).name;
    std::string const v = anyLike(author, *x).name;
    bool const hasMask = x->isStatic() && author.chance(40);
    int64_t const length = x->extent(2);
    DType const type = x->type.dtype;
    if (!author.node("MatrixMultiply", {q, k}, "operation1=1"))
        return false;
    std::string const factor = author.constant(type, {1, 1, 1, 1}, "[0.25]");
    if (!author.node("ElementWise", {author.made().name, factor}, "Operation=1"))
        return false;
    if (hasMask
        && !author.node("ElementWise", {author.made().name, author.wholeConstant(type, {1, 1, length, length}, -2, 0)}))
        return false;
    if (!author.node("SoftMax", {author.made().name}, "Axes=8"))
        return false;
    return author.node("MatrixMultiply", {author.made().name, v});
}

bool proposeRotaryEmbedding(Author& author)
{
    Written const* x = author.any([](Written const& each) {
        return each.isReal() && each.rank() == 4 && each.isStatic() && each.extent(3) % 2 == 0 && each.extent(3) > 0;
    });
    if (x == nullptr)
        return false;
    int64_t const pairs = x->extent(3) / 2;
    std::string const interleaved = author.chance(50) ? "Interleaved=true" : "";
    if (author.chance(50))
        return author.node("RotaryEmbedding",
            {x->name, author.randomConstant(x->type.dtype, {x->extent(0), x->extent(2), pairs}),
                author.randomConstant(x->type.dtype, {x->extent(0), x->extent(2), pairs})},
            interleaved);
    return author.node("RotaryEmbedding",
        {x->name, author.randomConstant(x->type.dtype, {9, pairs}), author.randomConstant(x->type.dtype, {9, pairs}),
            author.wholeConstant(DType::kINT32, {x->extent(0), x->extent(2)}, 0, 8)},
        interleaved);
}

bool proposeResize(Author& author)
{
    Written const* x = anyReal(author, 3, 5);
    if (x == nullptr)
        return false;
    static constexpr std::array<double, 5> kScales{0.5, 1.5, 2.0, 2.5, 0.75};
    std::vector<double> scales(x->rank(), 1.0);
    int64_t const mode = x->rank() == 4 ? author.draw(0, 2) : author.draw(0, 1);
    for (size_t axis = 2; axis < x->rank(); ++axis)
        scales[axis] = kScales[static_cast<size_t>(author.draw(0, 4))];
    return author.node("Resize", {x->name},
        fmt::format("Scales=[{}], ResizeMode={}, CoordinateTransformation={}, NearestRounding={}, ExcludeOutside={}",
            fmt::join(scales, ","), mode, author.draw(0, 2), author.draw(0, 3), mode == 2 && author.chance(40)));
}

bool proposeGridSample(Author& author)
{
    Written const* x = author.any([](Written const& each) {
        return each.isReal() && each.rank() == 4 && each.isStatic() && each.known.value.count() > 0;
    });
    if (x == nullptr)
        return false;
    std::vector<int64_t> const extents{x->extent(0), author.draw(1, 5), author.draw(1, 5), 2};
    static constexpr int64_t kModes[]{2, 3, 4};
    return author.node("GridSample", {x->name, author.randomConstant(x->type.dtype, extents)},
        fmt::format("InterpolationMode={}, AlignCorners={}, SampleMode={}", author.draw(0, 2), author.chance(50),
            kModes[author.draw(0, 2)]));
}

bool proposeNMS(Author& author)
{
    Written const* x = author.any([](Written const& each) {
        return (each.type.dtype == DType::kFLOAT || each.type.dtype == DType::kHALF) && each.rank() == 3
            && each.isStatic() && each.known.isExact() && each.known.value.count() > 0;
    });
    if (x == nullptr)
        return false;
    DType const type = x->type.dtype;
    return author.node("NMS",
        {author.wholeConstant(type, {x->extent(0), x->extent(1), 4}, 0, 12), x->name,
            scalarOf(author, DType::kINT32, author.draw(1, 4)), author.constant(type, {}, "0.4371"),
            author.constant(type, {}, "0.1")},
        fmt::format("BoundingBoxFormat={}", author.draw(0, 1)), 2);
}

bool proposeBoxSelection(Author& author)
{
    Written const* x = author.any([](Written const& each) {
        return each.type.dtype == DType::kFLOAT && each.rank() == 3 && each.isStatic() && each.known.isExact()
            && each.known.value.count() > 0;
    });
    if (x == nullptr)
        return false;
    return author.node("BoxSelection",
        {author.wholeConstant(DType::kFLOAT, {x->extent(0), x->extent(1), 1, 4}, 0, 12), x->name},
        fmt::format("rule={}, form={}, scoreThreshold=0.1, overlapThreshold=0.4371, candidates={}, most={}",
            author.draw(0, 1), author.draw(0, 1), author.draw(1, 9), author.draw(1, 5)),
        4);
}

//! Of one map, which has some of the rows.
bool proposeDeformableAttention(Author& author)
{
    Written const* x = author.any([](Written const& each) {
        return each.isReal() && each.rank() == 4 && each.isStatic() && each.known.value.count() > 0;
    });
    if (x == nullptr)
        return false;
    int64_t const height = author.draw(1, x->extent(1));
    int64_t const width = x->extent(1) / height;
    std::vector<int64_t> const weights{x->extent(0), author.draw(1, 5), x->extent(2), 1, author.draw(1, 3)};
    std::vector<int64_t> points{weights};
    points.push_back(2);
    return author.node("DeformableAttention",
        {x->name, author.listConstant(DType::kINT32, {1, 2}, {static_cast<double>(height), static_cast<double>(width)}),
            author.wholeConstant(DType::kINT32, {1}, 0, 0), author.randomConstant(x->type.dtype, points),
            author.randomConstant(x->type.dtype, weights)});
}

//! Of matrices that are square, or else of their products with themselves.
bool proposeDeterminant(Author& author)
{
    constexpr int64_t kMost{12}; // Of larger ones little is left but rounding.
    auto const rowsOf = [](Written const& each) { return each.rank() - 2; };
    auto const isSquare = [&](Written const& each) {
        return each.isStatic(rowsOf(each)) && each.isStatic(rowsOf(each) + 1)
            && each.extent(rowsOf(each)) == each.extent(rowsOf(each) + 1);
    };
    Written const* x = author.any([&](Written const& each) {
        return each.isReal() && each.rank() >= 2 && each.isStatic(rowsOf(each)) && each.extent(rowsOf(each)) <= kMost;
    });
    if (x == nullptr)
        return false;
    if (isSquare(*x))
        return author.node("Determinant", {x->name});
    return author.node("MatrixMultiply", {x->name, x->name}, "Operation1=1")
        && author.node("Determinant", {author.made().name});
}

bool proposeRecurrentNetwork(Author& author)
{
    Written const* x = author.any([](Written const& each) {
        return each.isReal() && each.rank() == 3 && each.isStatic(2) && each.extent(2) > 0;
    });
    if (x == nullptr)
        return false;
    int64_t const cell = author.draw(0, 2);
    int64_t const direction = author.draw(0, 2);
    int64_t const gates = std::array<int64_t, 3>{1, 3, 4}[static_cast<size_t>(cell)];
    int64_t const directions = direction == 2 ? 2 : 1;
    int64_t const hidden = author.draw(1, 12);
    DType const type = x->type.dtype;
    std::vector<std::string> operands{x->name, author.randomConstant(type, {directions, gates * hidden, x->extent(2)}),
        author.randomConstant(type, {directions, gates * hidden, hidden})};
    operands.push_back(author.chance(70) ? author.randomConstant(type, {directions, 2 * gates * hidden}) : "_");
    bool const hasLengths = x->isStatic(1) && x->isStatic(0) && author.chance(40);
    operands.push_back(hasLengths ? author.wholeConstant(DType::kINT32, {x->extent(1)}, 1, x->extent(0)) : "_");
    bool const isResetAfter = cell == 1 && author.chance(50);
    static constexpr int64_t kActivations[3][3]{{2, 0, 0}, {1, 2, 0}, {1, 2, 2}};
    std::string activations;
    for (int64_t d = 0; d < directions; ++d)
        for (int64_t i = 0; i <= cell; ++i)
            activations += fmt::format("{}{{Type={}}}", activations.empty() ? "" : ",", kActivations[cell][i]);
    return author.node("RecurrentNetwork", operands,
        fmt::format(
            "Cell={}, Direction={}, IsResetAfter={}, Activations=[{}]", cell, direction, isResetAfter, activations),
        cell == 2 ? 3 : 2);
}

// ---- bodies

namespace
{
//! A few layers from %x0 (and %x1) to a tensor of the same type; the name of the last.
std::string bodyLines(Author& author, std::string& lines, bool hasSecond, DType type, size_t rank)
{
    std::string last{"%x0"};
    for (int64_t count = author.draw(1, 3); count > 0; --count)
    {
        std::string const name = author.freshName();
        switch (author.draw(0, 3))
        {
        case 0:
            lines += fmt::format("{} = Activation({}) {{ActivationType={}}}\n", name, last, author.draw(0, 2));
            break;
        case 1:
            lines += fmt::format("{} = ElementWise({}, {}) {{Operation={}}}\n", name, last, hasSecond ? "%x1" : "%x0",
                author.draw(2, 4));
            break;
        case 2:
        {
            std::string const factor = author.freshName();
            lines += fmt::format("const {} : {}[{}] = 0.5\n{} = ElementWise({}, {}) {{Operation=1}}\n", factor,
                nameOf(type), fmt::join(std::vector<int64_t>(rank, 1), ","), name, last, factor);
            break;
        }
        default: lines += fmt::format("{} = Unary({}) {{Operation=6}}\n", name, last); break;
        }
        last = name;
    }
    return last;
}
} // namespace

bool proposeConditional(Author& author)
{
    Written const* x = anyReal(author, 0, 4);
    Written const* condition =
        author.any([](Written const& each) { return each.type.dtype == DType::kBOOL && each.rank() == 0; });
    if (x == nullptr || condition == nullptr)
        return false;
    bool const hasSecond = author.chance(50);
    std::string const second = anyLike(author, *x).name;
    std::vector<std::string> operands{condition->name};
    std::string bodies;
    for (int32_t i = 0; i < 2; ++i)
    {
        operands.push_back(x->name);
        bodies += "{\ninput %x0\n";
        if (hasSecond)
        {
            operands.push_back(second);
            bodies += "input %x1\n";
        }
        std::string const last = bodyLines(author, bodies, hasSecond, x->type.dtype, x->rank());
        bodies += "output " + last + "\n}\n";
    }
    return author.node("Conditional", operands, {}, 1, bodies);
}

bool proposeLoop(Author& author)
{
    Written const* walked = author.any([](Written const& each) {
        return each.isReal() && each.rank() > 0 && each.rank() < 5 && each.isStatic(0) && each.extent(0) > 0
            && each.extent(0) < 8;
    });
    if (walked == nullptr)
        return false;
    int64_t const rounds = walked->extent(0);
    std::vector<int64_t> first{walked->known.value.extents.begin() + 1, walked->known.value.extents.end()};
    TensorType carried{walked->type.dtype, {walked->type.shape.begin() + 1, walked->type.shape.end()}};
    std::string const shown = carried.show();
    Written const* begin = author.any([&](Written const& each) { return each.type.show() == shown; });
    if (begin == nullptr && !staticExtents(carried.shape))
        return false;
    DType const type = walked->type.dtype;
    std::string const walkedName = walked->name;
    bool const isJoined = author.chance(60);
    bool const isReversed = author.chance(30);
    std::vector<std::string> operands{scalarOf(author, DType::kINT64, rounds),
        begin != nullptr ? begin->name : author.randomConstant(type, first), walkedName};
    if (isJoined)
        operands.push_back(scalarOf(author, DType::kINT64, rounds));
    std::string body{"{\ninput %x0\ninput %x1\n"};
    std::string const last = bodyLines(author, body, true, type, first.size());
    body += "output " + last + "\n" + (isJoined ? "output " + last + "\n" : "") + "}\n";
    return author.node("Loop", operands,
        fmt::format("Form={{Carried=1, Walked=[{}], Lasts=[0], Joined=[{}]}}", isReversed ? 1 : 0,
            !isJoined               ? ""
                : author.chance(30) ? "1"
                                    : "0"),
        isJoined ? 2 : 1, body);
}

} // namespace tenon::test
