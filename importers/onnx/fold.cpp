// Results of nodes that read small constants only. Importers need some of them as numbers (pads, limits, axes, k); all
// other arithmetic on constants is the engine's to fold.
#include "network.h"
#include "operators.h"

#include <algorithm>
#include <cmath>

namespace tenon::onnx
{
namespace
{

constexpr int64_t kMaxFolded{1024};

bool isWideInteger(DataType type)
{
    return type == DataType::kINT64 || type == DataType::kINT32;
}

Value integers(Node& node, Integers const& elements, Shape dims, DataType type)
{
    Constant const wide = node.network().model.own(DataType::kINT64, std::move(dims), elements);
    return node.cast(node.named(wide, "folded"), type);
}

//! −1 when the elements do not pair up by the simple rule: as many, or one against many of at least its rank.
int64_t pairedCount(Constant const& a, Constant const& b)
{
    if (a.dims == b.dims || (b.count == 1 && b.dims.size() <= a.dims.size()))
    {
        return a.count;
    }
    return a.count == 1 && a.dims.size() <= b.dims.size() ? b.count : -1;
}

template <typename T, typename Function>
std::vector<T> paired(std::vector<T> const& a, std::vector<T> const& b, Function const& function)
{
    std::vector<T> result(a.size() == 1 ? b.size() : a.size());
    for (size_t i = 0; i < result.size(); ++i)
    {
        result[i] = function(a[a.size() == 1 ? 0 : i], b[b.size() == 1 ? 0 : i]);
    }
    return result;
}

//! Wraps around as the engine's integers do.
int64_t wrapped(char operation, int64_t a, int64_t b)
{
    auto const x = static_cast<uint64_t>(a);
    auto const y = static_cast<uint64_t>(b);
    switch (operation)
    {
    case '+': return static_cast<int64_t>(x + y);
    case '-': return static_cast<int64_t>(x - y);
    case '*': return static_cast<int64_t>(x * y);
    default: return b == -1 ? static_cast<int64_t>(0 - x) : a / b;
    }
}

double exact(char operation, double a, double b)
{
    switch (operation)
    {
    case '+': return a + b;
    case '-': return a - b;
    case '*': return a * b;
    default: return a / b;
    }
}

std::optional<Outputs> foldBinary(Node& node, char operation)
{
    Constant const& a = node.in(0).constant();
    Constant const& b = node.in(1).constant();
    if (pairedCount(a, b) < 0 || a.type != b.type)
    {
        return std::nullopt;
    }
    Shape const& dims = a.count == 1 && a.dims.size() <= b.dims.size() ? b.dims : a.dims;
    if (isWideInteger(a.type))
    {
        Integers const divisors = integersOf(b);
        if (operation == '/' && std::find(divisors.begin(), divisors.end(), 0) != divisors.end())
        {
            return std::nullopt;
        }
        auto const function = [operation](int64_t x, int64_t y) { return wrapped(operation, x, y); };
        return Outputs{integers(node, paired(integersOf(a), divisors, function), dims, a.type)};
    }
    if (a.type != DataType::kFLOAT && a.type != kFloat64)
    {
        return std::nullopt;
    }
    auto const function = [operation](double x, double y) { return exact(operation, x, y); };
    return Outputs{node.numbers(paired(numbersOf(a), numbersOf(b), function), dims, a.type)};
}

std::optional<Outputs> foldUnary(Node& node, double (*function)(double))
{
    Constant const& x = node.in(0).constant();
    if (x.type != DataType::kFLOAT && x.type != kFloat64)
    {
        return std::nullopt;
    }
    std::vector<double> elements = numbersOf(x);
    std::transform(elements.begin(), elements.end(), elements.begin(), function);
    return Outputs{node.numbers(elements, x.dims, x.type)};
}

std::optional<Outputs> foldConcat(Node& node)
{
    Integers elements;
    for (Value const& input : node.inputs())
    {
        if (!isWideInteger(input.type()) || input.rank() != 1)
        {
            return std::nullopt;
        }
        Integers const more = integersOf(input.constant());
        elements.insert(elements.end(), more.begin(), more.end());
    }
    Shape const dims{static_cast<int64_t>(elements.size())};
    return Outputs{integers(node, elements, dims, node.in(0).type())};
}

//! From a list of integers.
std::optional<Outputs> foldGather(Node& node)
{
    Constant const& data = node.in(0).constant();
    if (!isWideInteger(data.type) || data.dims.size() != 1)
    {
        return std::nullopt;
    }
    Integers const source = integersOf(data);
    Integers picked;
    for (int64_t const index : integersOf(node.in(1).constant()))
    {
        int64_t const at = index < 0 ? index + data.count : index;
        if (at < 0 || at >= data.count)
        {
            return std::nullopt;
        }
        picked.push_back(source[static_cast<size_t>(at)]);
    }
    return Outputs{integers(node, picked, node.in(1).shape(), data.type)};
}

std::optional<Outputs> foldReshape(Node& node)
{
    Shape shape = node.integers(1, "shape");
    Shape const& from = node.in(0).shape();
    int64_t known{1};
    for (size_t i = 0; i < shape.size(); ++i)
    {
        if (shape[i] == 0 && node.intOr("allowzero", 0) == 0 && i < from.size())
        {
            shape[i] = from[i];
        }
        known *= shape[i] == -1 || shape[i] > (int64_t{1} << 40) ? 1 : shape[i];
    }
    auto const open = std::find(shape.begin(), shape.end(), -1);
    if (open != shape.end() && known > 0)
    {
        *open = node.in(0).constant().count / known;
    }
    return Outputs{node.reshapedConstant(node.in(0), shape)};
}

std::optional<Outputs> foldShape(Node& node)
{
    if (node.hasAttribute("start") || node.hasAttribute("end"))
    {
        return std::nullopt;
    }
    return Outputs{node.integerConstant(node.in(0).shape())};
}

bool areSmallConstants(Node const& node)
{
    return node.nbInputs() > 0 && std::all_of(node.inputs().begin(), node.inputs().end(), [](Value const& input) {
        return input.isConstant() && input.constant().count <= kMaxFolded;
    });
}

} // namespace

std::optional<Outputs> fold(Node& node)
{
    std::string_view const op = node.op();
    bool const hasTwo = node.nbInputs() == 2;
    if (node.nbInputs() == 1 && node.in(0).isConstant() && op == "Shape")
    {
        return foldShape(node);
    }
    if (hasTwo && node.in(0).isConstant() && node.in(1).isConstant() && op == "Reshape")
    {
        return foldReshape(node);
    }
    if (!areSmallConstants(node))
    {
        return std::nullopt;
    }
    if (hasTwo && (op == "Add" || op == "Sub" || op == "Mul" || op == "Div"))
    {
        return foldBinary(node, op == "Add" ? '+' : op == "Sub" ? '-' : op == "Mul" ? '*' : '/');
    }
    if (op == "Sqrt" || op == "Floor" || op == "Ceil")
    {
        return foldUnary(
            node,
            op == "Sqrt"        ? +[](double x) { return std::sqrt(x); }
                : op == "Floor" ? +[](double x) { return std::floor(x); }
                                : +[](double x) { return std::ceil(x); });
    }
    if (op == "Concat")
    {
        return foldConcat(node);
    }
    return op == "Gather" && hasTwo ? foldGather(node) : std::nullopt;
}

} // namespace tenon::onnx
