// Text form of graphs: printing and parsing.
#include "ir/text.h"

#include "ir/field_text.h"

#include <map>
#include <random>

namespace tenon
{

namespace
{
// ---- printing

bool isPlainName(std::string const& name)
{
    for (char const c : name)
        if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_')
            return false;
    return !name.empty();
}

class Printer
{
  public:
    Printer(Graph const& graph, TextOptions const& options)
        : mGraph{graph},
          mOptions{options}
    {
    }
    std::string print()
    {
        std::string text;
        for (ValueId const input : mGraph.inputs())
            text += "input " + reference(input) + " : " + mGraph.typeOf(input).show() + "\n";
        for (NodeId const id : mGraph.order())
            text += line(mGraph.node(id));
        for (GraphOutput const& output : mGraph.outputs())
            text += "output " + reference(output.value) + "\n";
        return text;
    }

  private:
    std::string reference(ValueId id)
    {
        if (id == kNone)
            return "_";
        Value const& value = mGraph.value(id);
        if (value.constant != nullptr && !mOptions.names)
            return constant(*value.constant);
        if (value.producer != kNone && !mOptions.names)
            return fmt::format("%{}", mNumbers.try_emplace(id, mNumbers.size()).first->second);
        return isPlainName(value.name) ? "%" + value.name : "%\"" + value.name + "\"";
    }
    static std::string constant(Constant const& constant)
    {
        std::string text = TensorType{constant.dtype, shapeOf(constant.extents)}.show();
        if (constant.count() > 8)
            return text;
        HostTensor const host = HostTensor::fromConstant(constant);
        text += "=";
        for (int64_t i = 0; i < constant.count(); ++i)
            text += fmt::format("{}{}", i == 0 ? "" : ",", static_cast<float>(host.real(i)));
        return text;
    }
    std::string line(Node const& node)
    {
        std::string inputs;
        for (ValueId const input : node.inputs)
            inputs += (inputs.empty() ? "" : ", ") + reference(input);
        std::string outputs;
        std::string types;
        for (ValueId const output : node.outputs)
        {
            outputs += (outputs.empty() ? "" : ", ") + reference(output);
            types += (types.empty() ? "" : ", ") + mGraph.typeOf(output).show();
        }
        std::string const fields = node.layer->show();
        std::string text = fmt::format("{}{}{}({})", outputs, outputs.empty() ? "" : " = ", node.layer->name(), inputs);
        if (!fields.empty())
            text += " {" + fields + "}";
        if (mOptions.types && !types.empty())
            text += " : " + types;
        text += "\n";
        for (BodyPtr const& body : node.layer->bodies())
            text += "{\n" + Printer{*body, mOptions}.print() + "}\n";
        return text;
    }

    Graph const& mGraph;
    TextOptions const& mOptions;
    std::map<ValueId, size_t> mNumbers;
};

// ---- parsing

//! The lines of a text; those of bodies stand between lines of their own, "{" and "}".
class Lines
{
  public:
    explicit Lines(std::string_view text)
        : mText{text}
    {
    }
    bool atEnd() const noexcept
    {
        return mText.empty();
    }
    bool isNext(std::string_view line) const noexcept
    {
        return mText.substr(0, mText.find('\n')) == line;
    }
    std::string_view next() noexcept
    {
        size_t const end = mText.find('\n');
        std::string_view const one = mText.substr(0, end);
        mText = end == std::string_view::npos ? std::string_view{} : mText.substr(end + 1);
        ++mNumber;
        return one;
    }
    //! Of the line that was taken last.
    int32_t number() const noexcept
    {
        return mNumber;
    }

  private:
    std::string_view mText;
    int32_t mNumber{0};
};

//! What a body is to the node that runs it.
struct BodyOf
{
    Graph const* outside{nullptr}; //!< Null: this is no body.
    std::vector<ValueId> operands;
    LoopForm const* loop{nullptr};
    size_t inputsBefore{0}; //!< Of the bodies before it.
};

class Parser
{
  public:
    Parser(LayerParser const& parser, Lines& lines, Graph& graph, BodyOf of = {})
        : mParser{parser},
          mLines{lines},
          mGraph{graph},
          mOf{std::move(of)}
    {
    }
    Result<Done> parse()
    {
        bool const isBody = mOf.outside != nullptr;
        while (!mLines.atEnd() && !(isBody && mLines.isNext("}")))
            TENON_TRY(line(mLines.next()));
        if (isBody && mLines.atEnd())
            return badArgument("a body lacks its closing brace");
        if (isBody)
            mLines.next();
        return Done{};
    }

  private:
    Result<Done> line(std::string_view text)
    {
        TextReader in{text};
        if (in.atEnd() || in.peek() == '#')
            return Done{};
        if (in.take("input "))
            return input(in);
        if (in.take("const "))
            return constant(in);
        if (in.take("output "))
        {
            std::string const value = TENON_TRY(name(in));
            mGraph.markOutput(TENON_TRY(find(value)), value);
            return Done{};
        }
        return node(in);
    }
    Result<std::string> name(TextReader& in)
    {
        TENON_TRY(in.expect("%"));
        if (in.peek() == '"')
            return in.quoted();
        return std::string{in.word()};
    }
    Result<ValueId> find(std::string const& value) const
    {
        auto const known = mValues.find(value);
        if (known == mValues.end())
            return badArgument("unknown value %{}", value);
        return known->second;
    }
    Result<DType> dtype(TextReader& in)
    {
        std::string const type{in.word()};
        for (int32_t i = 0; i < kTypeNumbers; ++i)
            if (isValid(static_cast<DType>(i)) && nameOf(static_cast<DType>(i)) == type)
                return static_cast<DType>(i);
        return badArgument("unknown element type '{}'", type);
    }
    Result<ShapeExpr> extent(TextReader& in, int32_t axis)
    {
        if (std::isalpha(static_cast<unsigned char>(in.peek())) == 0)
            return ShapeExpr{TENON_TRY(in.integer())};
        std::string const symbol{in.word()};
        auto const known = mSymbols.find(symbol);
        if (known != mSymbols.end())
            return ShapeExpr::symbol(known->second);
        Range range{1, 4096};
        if (in.take("="))
        {
            range.min = TENON_TRY(in.integer());
            TENON_TRY(in.expect(".."));
            range.max = TENON_TRY(in.integer());
        }
        auto const source = static_cast<int32_t>(mGraph.inputs().size());
        int32_t const id = mGraph.symbols().find(SymbolKind::kInputExtent, source, axis, symbol, range);
        mSymbols[symbol] = id;
        return ShapeExpr::symbol(id);
    }
    Result<TensorType> type(TextReader& in)
    {
        TensorType result{TENON_TRY(dtype(in)), {}};
        TENON_TRY(in.expect("["));
        while (!in.take("]"))
        {
            if (!result.shape.empty())
                TENON_TRY(in.expect(","));
            result.shape.push_back(TENON_TRY(extent(in, result.rank())));
        }
        return result;
    }
    Result<Done> input(TextReader& in)
    {
        std::string const value = TENON_TRY(name(in));
        if (mOf.outside != nullptr)
            return bodyInput(value);
        TENON_TRY(in.expect(":"));
        TensorType given = TENON_TRY(type(in));
        mValues[value] = mGraph.addInput(value, std::move(given));
        return Done{};
    }
    //! Its type is that of the operand, whatever the text says.
    Result<Done> bodyInput(std::string const& name)
    {
        size_t const position = mGraph.inputs().size();
        size_t const operand = operandOfBodyInput(mOf.loop, mOf.inputsBefore, position);
        if (operand >= mOf.operands.size() || mOf.operands[operand] == kNone)
            return badArgument("the body's input %{} has no operand", name);
        mValues[name] = mGraph.addBodyInput(
            name, mOf.outside->value(mOf.operands[operand]), Graph::kindOfBodyInput(mOf.loop, position));
        return Done{};
    }
    Result<LayerPtr> withBodies(LayerPtr layer, std::vector<ValueId> const& operands)
    {
        std::vector<BodyPtr> bodies;
        size_t before{0};
        while (mLines.isNext("{"))
        {
            mLines.next();
            bodies.push_back(mGraph.makeBody());
            TENON_TRY(Parser(mParser, mLines, *bodies.back(), {&mGraph, operands, layer->loopForm(), before}).parse());
            before += bodies.back()->inputs().size();
        }
        if (bodies.empty())
            return layer;
        LayerPtr made = layer->withBodies(std::move(bodies));
        if (made == nullptr)
            return badArgument("a layer that runs no graphs has bodies");
        return made;
    }
    Result<Done> constant(TextReader& in)
    {
        std::string const value = TENON_TRY(name(in));
        TENON_TRY(in.expect(":"));
        TensorType const given = TENON_TRY(type(in));
        TENON_TRY(in.expect("="));
        std::optional<std::vector<int64_t>> const extents = staticExtents(given.shape);
        if (!extents)
            return badArgument("the shape of a constant has a symbol");
        HostTensor tensor{given.dtype, *extents};
        TENON_TRY(fill(in, tensor));
        mValues[value] = mGraph.addConstant(value, tensor.toConstant());
        return Done{};
    }
    Result<Done> fill(TextReader& in, HostTensor& tensor)
    {
        if (in.take("random("))
        {
            std::mt19937 engine{static_cast<uint32_t>(TENON_TRY(in.number()))};
            std::uniform_real_distribution<double> values{-1.0, 1.0};
            for (int64_t i = 0; i < tensor.count(); ++i)
                tensor.set(i, values(engine));
            return in.expect(")");
        }
        if (in.take("whole("))
        {
            std::mt19937 engine{static_cast<uint32_t>(TENON_TRY(in.number()))};
            TENON_TRY(in.expect(","));
            int64_t const low = TENON_TRY(in.integer());
            TENON_TRY(in.expect(","));
            int64_t const count = TENON_TRY(in.integer()) - low + 1;
            if (count < 1)
                return badArgument("no whole number is from {} to {}", low, low + count - 1);
            for (int64_t i = 0; i < tensor.count(); ++i)
                tensor.set(i, static_cast<double>(low + static_cast<int64_t>(engine() % static_cast<uint64_t>(count))));
            return in.expect(")");
        }
        bool const isList = in.take("[");
        double value{0.0};
        for (int64_t i = 0; i < tensor.count(); ++i)
        {
            if (isList && i > 0)
                TENON_TRY(in.expect(","));
            if (isList || i == 0)
                value = TENON_TRY(in.number());
            tensor.set(i, value);
        }
        return isList ? in.expect("]") : Result<Done>{Done{}};
    }
    Result<Done> node(TextReader& in)
    {
        std::vector<std::string> outputs;
        while (in.peek() == '%')
        {
            outputs.push_back(TENON_TRY(name(in)));
            in.take(",");
        }
        if (!outputs.empty())
            TENON_TRY(in.expect("="));
        std::string const kind{in.word()};
        TENON_TRY(in.expect("("));
        std::vector<ValueId> inputs;
        while (!in.take(")"))
        {
            if (!inputs.empty())
                TENON_TRY(in.expect(","));
            inputs.push_back(in.take("_") ? kNone : TENON_TRY(find(TENON_TRY(name(in)))));
        }
        LayerPtr layer = TENON_TRY(mParser(kind, in.take("{") ? in.rest() : std::string_view{"}"}));
        layer = TENON_TRY(withBodies(std::move(layer), inputs));
        std::string const called = outputs.empty() ? kind : outputs.front();
        NodeId const id = TENON_TRY(mGraph.addNode(std::move(layer), called, std::move(inputs)));
        Node const& added = mGraph.node(id);
        if (added.outputs.size() != outputs.size())
            return badArgument("{} gives {} results", kind, added.outputs.size());
        for (size_t i = 0; i < outputs.size(); ++i)
        {
            mValues[outputs[i]] = added.outputs[i];
            mGraph.rename(added.outputs[i], outputs[i]);
        }
        return Done{};
    }

    LayerParser const& mParser;
    Lines& mLines;
    Graph& mGraph;
    BodyOf mOf;
    std::map<std::string, ValueId> mValues;
    std::map<std::string, int32_t> mSymbols;
};
} // namespace

std::string print(Graph const& graph, TextOptions const& options)
{
    return Printer{graph, options}.print();
}

Result<Graph> parseGraph(std::string_view text, LayerParser const& parser)
{
    Graph graph;
    Lines lines{text};
    Result<Done> const parsed = Parser{parser, lines, graph}.parse();
    if (!parsed)
        return Error{parsed.error()}.in(fmt::format("line {}", lines.number()));
    return graph;
}

} // namespace tenon
