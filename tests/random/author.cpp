// Author: inputs, lines, and what a line must hold to stay.
#include "random/author.h"

#include "ir/text.h"
#include "support/layer_text.h"

#include <fmt/ranges.h>

#include <cmath>
#include <set>

namespace tenon::test
{

namespace
{
constexpr int64_t kMaxElements{6000};

//! Mixed so that neighbours differ in everything.
uint32_t mixed(uint32_t a, uint32_t b)
{
    std::seed_seq sequence{a, b};
    uint32_t result{0};
    sequence.generate(&result, &result + 1);
    return result;
}

uint32_t hashOf(std::string_view text)
{
    uint32_t hash{2166136261U};
    for (char const c : text)
        hash = (hash ^ static_cast<uint8_t>(c)) * 16777619U;
    return hash;
}

HostTensor inputOf(std::string const& name, DType type, std::vector<int64_t> extents, uint32_t seed)
{
    HostTensor tensor{type, std::move(extents)};
    std::mt19937 random{mixed(seed, hashOf(name))};
    std::uniform_real_distribution<double> reals{-2.0, 2.0};
    std::uniform_real_distribution<double> positive{0.25, 2.0};
    for (int64_t i = 0; i < tensor.count(); ++i)
        switch (name.front())
        {
        case 'r': tensor.set(i, reals(random)); break;
        case 'p': tensor.set(i, positive(random)); break;
        case 'b': tensor.setInteger(i, random() % 2); break;
        case 'i': tensor.setInteger(i, random() % 3); break;
        default: tensor.set(i, (static_cast<double>(random() % 33) - 16.0) / 4.0); break;
        }
    return tensor;
}
} // namespace

std::string listed(std::vector<int64_t> const& values)
{
    return fmt::format("({})", fmt::join(values, ","));
}

Result<Graph> graphOf(std::string const& text)
{
    return parseGraph(text, parseLayer);
}

std::vector<HostTensor> inputsOf(Graph const& graph, uint32_t seed, int32_t round)
{
    std::vector<int64_t> symbols;
    for (int32_t id = 0; id < graph.symbols().size(); ++id)
    {
        Symbol const& symbol = graph.symbols().at(id);
        auto const width = static_cast<uint32_t>(std::min<int64_t>(symbol.range.max - symbol.range.min, 100)) + 1;
        symbols.push_back(
            symbol.range.min + mixed(mixed(seed, static_cast<uint32_t>(id)), static_cast<uint32_t>(round)) % width);
    }
    std::vector<HostTensor> inputs;
    for (ValueId const input : graph.inputs())
    {
        Value const& value = graph.value(input);
        std::vector<int64_t> extents;
        for (ShapeExpr const& extent : value.type.shape)
            extents.push_back(extent.evaluate(symbols));
        inputs.push_back(inputOf(value.name, value.type.dtype, std::move(extents), seed));
    }
    return inputs;
}

Author::Author(uint32_t seed)
    : mRandom{mixed(seed, 1)},
      mSeed{seed},
      mMayBeEmpty{mixed(seed, 2) % 6 == 0}
{
}

RandomGraph Author::write(int32_t layers)
{
    mRealType = chance(60) ? DType::kFLOAT : chance(50) ? DType::kHALF : DType::kBF16;
    writeInputs();
    auto const proposals = allProposals();
    size_t const inputs = mWritten.size();
    auto const wanted = inputs + static_cast<size_t>(layers);
    for (int32_t tries = 0; mWritten.size() < wanted && tries < 12 * layers; ++tries)
    {
        mPending.clear();
        proposals[static_cast<size_t>(draw(0, static_cast<int64_t>(proposals.size()) - 1))].second(*this);
    }
    for (size_t i = inputs; i < mWritten.size(); ++i)
    {
        bool const isRead = mText.find(mWritten[i].name + ",") != std::string::npos
            || mText.find(mWritten[i].name + ")") != std::string::npos;
        if (!isRead || chance(10))
            mText += "output " + mWritten[i].name + "\n";
    }
    return {std::move(mText), mSeed};
}

std::string Author::axisText(int64_t extent, bool mayBeDynamic)
{
    if (!mayBeDynamic || !chance(35))
        return std::to_string(extent);
    if (!mSymbols.empty() && chance(40))
        return mSymbols[static_cast<size_t>(draw(0, static_cast<int64_t>(mSymbols.size()) - 1))];
    mSymbols.push_back(fmt::format("S{}", mSymbols.size()));
    return fmt::format("{}={}..{}", mSymbols.back(), mMayBeEmpty ? 0 : 1, extent + 1);
}

void Author::writeInput(std::string const& prefix, DType type, std::vector<std::string> const& extents)
{
    std::string const name = fmt::format("%{}{}", prefix, mNames++);
    std::string const line = fmt::format("input {} : {}[{}]\n", name, nameOf(type), fmt::join(extents, ","));
    Result<Graph> const graph = graphOf(mText + line);
    if (!graph)
        return;
    mText += line;
    mWritten.push_back({name, graph->typeOf(graph->inputs().back()), Known{inputsOf(*graph, mSeed, 0).back()}});
}

void Author::writeInputs()
{
    static constexpr int64_t kChannels[]{1, 2, 3, 4, 8, 16, 17, 24, 32};
    auto const numbers = [&] { return std::string{chance(60) ? "g" : chance(70) ? "r" : "p"}; };
    for (int64_t count = draw(1, 2); count > 0; --count)
    {
        std::vector<std::string> extents;
        switch (draw(0, 5))
        {
        case 0:
        case 1: // Pictures.
            extents = {axisText(draw(1, 2), true), std::to_string(kChannels[draw(0, 8)])};
            for (int64_t axes = chance(80) ? 2 : draw(1, 3); axes > 0; --axes)
                extents.push_back(axisText(draw(4, 9), chance(50)));
            break;
        case 2: // Sequences.
            extents = {axisText(draw(1, 3), true), axisText(draw(2, 7), true), std::to_string(draw(1, 20))};
            break;
        case 3: // Heads.
            extents = {axisText(draw(1, 2), true), std::to_string(draw(1, 3)), axisText(draw(2, 6), true),
                std::to_string(2 * draw(1, 8))};
            break;
        case 4: // Matrices.
            extents = {axisText(draw(1, 12), true), std::to_string(draw(1, 40))};
            break;
        default:
            for (int64_t rank = draw(0, 5); rank > 0; --rank)
                extents.push_back(axisText(draw(1, 5), true));
        }
        writeInput(numbers(), mRealType, extents);
        if (chance(25)) // Another of the same shape.
        {
            for (std::string& extent : extents)
                extent = extent.substr(0, extent.find('='));
            writeInput(numbers(), mRealType, extents);
        }
    }
    if (chance(25))
        writeInput("i", chance(50) ? DType::kINT32 : DType::kINT64, {std::to_string(draw(1, 5))});
    if (chance(20))
        writeInput("b", DType::kBOOL, {});
}

std::string Author::constant(DType type, std::vector<int64_t> const& extents, std::string const& values)
{
    std::string const name = fmt::format("%c{}", mNames++);
    mPending += fmt::format("const {} : {}[{}] = {}\n", name, nameOf(type), fmt::join(extents, ","), values);
    return name;
}

std::string Author::randomConstant(DType type, std::vector<int64_t> const& extents)
{
    return constant(type, extents, fmt::format("random({})", draw(1, 1000)));
}

std::string Author::wholeConstant(DType type, std::vector<int64_t> const& extents, int64_t low, int64_t high)
{
    return constant(type, extents, fmt::format("whole({},{},{})", draw(1, 1000), low, high));
}

std::string Author::listConstant(DType type, std::vector<int64_t> const& extents, std::vector<double> const& values)
{
    return constant(type, extents, fmt::format("[{}]", fmt::join(values, ",")));
}

//! Numbers are finite, not too large for what follows, and known well enough to tell a hundredth.
bool Author::isFit(std::vector<Known> const& made) const
{
    for (Known const& each : made)
    {
        if (each.value.count() > kMaxElements)
            return false;
        if (!each.value.isReal())
            continue;
        DType const type = each.value.dtype;
        double largest{0.0};
        for (double const x : each.value.reals)
            if (!std::isfinite(x))
                return false;
            else
                largest = std::max(largest, std::abs(x));
        double const share = type == DType::kFLOAT ? 1e-3 : type == DType::kHALF ? 2e-2 : 1e-1;
        if (largest > (type == DType::kFLOAT ? 1e4 : 250.0)
            || (!each.error.empty() && *std::ranges::max_element(each.error) > share * std::max(largest, 0.01)))
            return false;
    }
    return true;
}

bool Author::add(std::string const& lines, std::vector<std::string> const& names)
{
    Result<Graph> const graph = graphOf(mText + lines);
    if (!graph)
        return false;
    Node const& node = graph->node(*std::prev(graph->order().end()));
    std::vector<Known> constants(node.inputs.size());
    Knowns operands;
    for (size_t i = 0; i < node.inputs.size(); ++i)
    {
        operands.push_back(nullptr);
        if (node.inputs[i] == kNone)
            continue;
        Value const& value = graph->value(node.inputs[i]);
        auto const known = std::ranges::find(mWritten, "%" + value.name, [](Written const& each) { return each.name; });
        if (value.constant != nullptr)
            operands.back() = &(constants[i] = Known{HostTensor::fromConstant(*value.constant)});
        else if (known != mWritten.end())
            operands.back() = &known->known;
    }
    Result<std::vector<Known>> made = evaluateNode(*node.layer, operands);
    if (!made || !isFit(*made))
        return false;
    for (size_t i = 0; i < names.size(); ++i)
        mWritten.push_back({names[i], graph->typeOf(node.outputs[i]), std::move((*made)[i])});
    return true;
}

bool Author::node(std::string_view kind, std::vector<std::string> const& operands, std::string const& fields,
    size_t outputs, std::string const& bodies)
{
    std::vector<std::string> names;
    for (size_t i = 0; i < outputs; ++i)
        names.push_back(freshName());
    std::string const lines = fmt::format("{}{}{}{}({}){}\n{}", mPending, fmt::join(names, ", "),
        names.empty() ? "" : " = ", kind, fmt::join(operands, ", "), fields.empty() ? "" : " {" + fields + "}", bodies);
    mPending.clear();
    if (!add(lines, names))
        return false;
    mText += lines;
    mMade = outputs;
    return true;
}

} // namespace tenon::test
