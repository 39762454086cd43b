// Einsum: the equation, rules, and plain loops.
#include "layers/einsum.h"

#include "layers/check.h"
#include "layers/positions.h"
#include "layers/shape_values.h"

#include <algorithm>
#include <array>
#include <map>

namespace tenon
{

namespace
{
constexpr size_t kMaxEquation{4096};

//! The letters of one operand or of the output, those before and those behind an ellipsis.
struct Subscripts
{
    std::vector<int32_t> before;
    std::vector<int32_t> behind;
    bool hasEllipsis{false};

    size_t letters() const noexcept
    {
        return before.size() + behind.size();
    }
};

struct ParsedEquation
{
    std::vector<Subscripts> operands;
    std::optional<Subscripts> output; //!< None: the letters that occur once.
};

Result<Subscripts> parseSubscripts(std::string_view text, std::string_view equation)
{
    Subscripts found;
    for (size_t i = 0; i < text.size(); ++i)
    {
        if (text[i] >= 'a' && text[i] <= 'z')
            (found.hasEllipsis ? found.behind : found.before).push_back(text[i] - 'a');
        else if (text.substr(i, 3) == "..." && !found.hasEllipsis)
        {
            found.hasEllipsis = true;
            i += 2;
        }
        else
            return badArgument(
                "equation '{}': '{}' names axes by lower-case letters and one ellipsis at most", equation, text);
    }
    return found;
}

Result<ParsedEquation> parseEquation(std::string_view equation)
{
    if (equation.size() > kMaxEquation)
        return badArgument("an equation of {} characters; {} are allowed", equation.size(), kMaxEquation);
    std::string text;
    std::copy_if(equation.begin(), equation.end(), std::back_inserter(text), [](char c) { return c != ' '; });
    size_t const arrow = text.find("->");
    std::string_view left = std::string_view{text}.substr(0, arrow);
    ParsedEquation parsed;
    while (true)
    {
        size_t const comma = left.find(',');
        parsed.operands.push_back(TENON_TRY(parseSubscripts(left.substr(0, comma), equation)));
        if (comma == std::string_view::npos)
            break;
        left.remove_prefix(comma + 1);
    }
    if (arrow == std::string::npos)
        return parsed;
    parsed.output = TENON_TRY(parseSubscripts(std::string_view{text}.substr(arrow + 2), equation));
    std::array<int32_t, 26> reads{};
    for (Subscripts const& operand : parsed.operands)
        for (std::vector<int32_t> const* letters : {&operand.before, &operand.behind})
            for (int32_t const letter : *letters)
                ++reads[static_cast<size_t>(letter)];
    std::array<int32_t, 26> writes{};
    for (std::vector<int32_t> const* letters : {&parsed.output->before, &parsed.output->behind})
        for (int32_t const letter : *letters)
            if (reads[static_cast<size_t>(letter)] == 0 || ++writes[static_cast<size_t>(letter)] > 1)
                return badArgument("equation '{}': the output's '{}' must occur among the operands, and once in it",
                    equation, static_cast<char>('a' + letter));
    return parsed;
}

//! Labels of an operand or output of `rank` axes.
std::vector<int32_t> labelled(Subscripts const& subscripts, size_t rank)
{
    std::vector<int32_t> labels = subscripts.before;
    for (size_t hidden = rank - subscripts.letters(); hidden-- > 0;)
        labels.push_back(EinsumLabels::kEllipsis - static_cast<int32_t>(hidden));
    labels.insert(labels.end(), subscripts.behind.begin(), subscripts.behind.end());
    return labels;
}

//! Without an arrow: the axes of the ellipsis, then the letters that occur once, in order.
std::vector<int32_t> impliedOutput(std::vector<std::vector<int32_t>> const& operands, size_t hidden)
{
    std::map<int32_t, int32_t> counts;
    for (std::vector<int32_t> const& labels : operands)
        for (int32_t const label : labels)
            ++counts[label];
    std::vector<int32_t> output = labelled({.before = {}, .behind = {}, .hasEllipsis = true}, hidden);
    for (auto const& [label, count] : counts)
        if (label < 26 && count == 1)
            output.push_back(label);
    return output;
}
} // namespace

Result<Done> Einsum::check(std::string_view equation, int32_t operands)
{
    ParsedEquation const parsed = TENON_TRY(parseEquation(equation));
    if (operands >= 0 && static_cast<size_t>(operands) != parsed.operands.size())
        return badArgument(
            "equation '{}' is for {} operands; there are {}", equation, parsed.operands.size(), operands);
    return Done{};
}

Result<EinsumLabels> Einsum::labels(std::vector<int32_t> const& ranks) const
{
    TENON_TRY(check(equation, static_cast<int32_t>(ranks.size())));
    ParsedEquation const parsed = TENON_TRY(parseEquation(equation));
    EinsumLabels found;
    size_t hidden{0};
    for (size_t i = 0; i < ranks.size(); ++i)
    {
        Subscripts const& operand = parsed.operands[i];
        auto const rank = static_cast<size_t>(ranks[i]);
        if (operand.letters() > rank || (operand.letters() < rank && !operand.hasEllipsis))
            return badArgument(
                "equation '{}' names {} axes of operand {}, which has {}", equation, operand.letters(), i, rank);
        hidden = std::max(hidden, rank - operand.letters());
        found.operands.push_back(labelled(operand, rank));
    }
    found.output = parsed.output
        ? labelled(*parsed.output, parsed.output->letters() + (parsed.output->hasEllipsis ? hidden : 0))
        : impliedOutput(found.operands, hidden);
    return found;
}

Result<Done> Einsum::verify() const
{
    return check(equation);
}

namespace
{
std::vector<int32_t> ranksOf(Inputs const& in)
{
    std::vector<int32_t> ranks;
    for (int32_t i = 0; i < in.size(); ++i)
        ranks.push_back(in.type(i).rank());
    return ranks;
}
} // namespace

Result<TensorType> Einsum::infer(Inputs const& in) const
{
    Check check{in, kName};
    check.fields(verify()).that(in.size() > 0, "has no operands").count(in.size());
    for (int32_t i = 0; i < in.size(); ++i)
        check.types(i, {DType::kFLOAT, DType::kHALF, DType::kBF16, kFloat64, DType::kINT32, DType::kINT64})
            .sameType(i, 0);
    TENON_TRY(check.done());
    Result<EinsumLabels> const labels = this->labels(ranksOf(in));
    if (!labels)
        return layerError(in, kName, labels.error().message);
    std::map<int32_t, ShapeExpr> extents;
    for (int32_t i = 0; i < in.size(); ++i)
        for (size_t axis = 0; axis < labels->operands[static_cast<size_t>(i)].size(); ++axis)
        {
            int32_t const label = labels->operands[static_cast<size_t>(i)][axis];
            ShapeExpr const& own = in.type(i).shape[axis];
            auto const [at, isNew] = extents.emplace(label, own);
            if (isNew)
                continue;
            Result<ShapeExpr> both = broadcastExtent(at->second, own, in.symbols());
            if (!both)
                return inputError(in, kName, i,
                    fmt::format("has extent {} on axis {}, which the equation '{}' takes for one with an extent of {}",
                        own.show(), axis, equation, at->second.show()));
            at->second = *both;
        }
    check.that(
        labels->output.size() <= nvinfer1::Dims::MAX_DIMS, "the result would have rank {}", labels->output.size());
    TENON_TRY(check.done());
    TensorType type{in.type(0).dtype, {}};
    for (int32_t const label : labels->output)
        type.shape.push_back(extents.contains(label) ? extents.at(label) : ShapeExpr{1});
    return type;
}

namespace
{
//! How far an operand moves with each label of the loops.
std::vector<int64_t> loopStrides(
    HostTensor const& operand, std::vector<int32_t> const& labels, std::vector<int32_t> const& loops)
{
    std::vector<int64_t> const own = stridesOf(operand.extents);
    std::vector<int64_t> strides(loops.size(), 0);
    for (size_t axis = 0; axis < labels.size(); ++axis)
    {
        auto const at = static_cast<size_t>(std::find(loops.begin(), loops.end(), labels[axis]) - loops.begin());
        strides[at] += operand.extents[axis] == 1 ? 0 : own[axis];
    }
    return strides;
}
} // namespace

Result<std::vector<HostTensor>> Einsum::reference(HostTensors const& in) const
{
    HostTensor out = TENON_TRY(outputOf(*this, in));
    std::vector<int32_t> ranks;
    for (HostTensor const* operand : in)
        ranks.push_back(static_cast<int32_t>(operand->extents.size()));
    EinsumLabels const found = TENON_TRY(labels(ranks));
    std::vector<int32_t> loops = found.output;
    std::vector<int64_t> extents = out.extents;
    for (size_t i = 0; i < in.size(); ++i)
        for (size_t axis = 0; axis < found.operands[i].size(); ++axis)
        {
            int32_t const label = found.operands[i][axis];
            auto const at = std::find(loops.begin(), loops.end(), label);
            int64_t const extent = in[i]->extents[axis];
            if (at == loops.end())
            {
                loops.push_back(label);
                extents.push_back(extent);
            }
            else if (int64_t& all = extents[static_cast<size_t>(at - loops.begin())]; all == 1)
                all = extent; // A label that is summed over may be broadcast, too.
        }
    std::vector<std::vector<int64_t>> strides;
    for (size_t i = 0; i < in.size(); ++i)
        strides.push_back(loopStrides(*in[i], found.operands[i], loops));
    int64_t const summed = volumeOf({extents.begin() + static_cast<std::ptrdiff_t>(out.extents.size()), extents.end()});
    std::vector<double> reals(static_cast<size_t>(out.isReal() ? out.count() : 0), 0.0);
    forEachPosition(extents, [&](int64_t linear, std::vector<int64_t> const& at) {
        auto const to = static_cast<size_t>(linear / summed);
        double product{1.0};
        uint64_t whole{1}; // Integers wrap.
        for (size_t i = 0; i < in.size(); ++i)
        {
            auto const from = static_cast<size_t>(linearOf(at, strides[i]));
            if (out.isReal())
                product *= in[i]->reals[from];
            else
                whole *= static_cast<uint64_t>(in[i]->integers[from]);
        }
        if (out.isReal())
            reals[to] += product;
        else
            out.integers[to] = static_cast<int64_t>(static_cast<uint64_t>(out.integers[to]) + whole);
    });
    for (int64_t i = 0; i < out.count(); ++i)
        if (out.isReal())
            out.set(i, reals[static_cast<size_t>(i)]);
        else
            out.setInteger(i, out.integers[static_cast<size_t>(i)]);
    return oneOutput(std::move(out));
}

} // namespace tenon
