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

class Parser
{
  public:
    explicit Parser(LayerParser const& parser)
        : mParser{parser}
    {
    }
    Result<Graph> parse(std::string_view text)
    {
        int32_t number{0};
        while (!text.empty())
        {
            size_t const end = text.find('\n');
            std::string_view const one = text.substr(0, end);
            text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
            ++number;
            Result<Done> done = line(one);
            if (!done)
                return std::move(done).error().in(fmt::format("line {}", number));
        }
        return std::move(mGraph);
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
        for (int32_t i = 0; i < 12; ++i)
            if (nameOf(static_cast<DType>(i)) == type)
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
        TENON_TRY(in.expect(":"));
        TensorType given = TENON_TRY(type(in));
        mValues[value] = mGraph.addInput(value, std::move(given));
        return Done{};
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
        std::string const called = outputs.empty() ? kind : outputs.front();
        NodeId const id = TENON_TRY(mGraph.addNode(std::move(layer), called, std::move(inputs)));
        Node const& added = mGraph.node(id);
        if (added.outputs.size() != outputs.size())
            return badArgument("{} gives {} results", kind, added.outputs.size());
        for (size_t i = 0; i < outputs.size(); ++i)
            mValues[outputs[i]] = added.outputs[i];
        return Done{};
    }

    LayerParser const& mParser;
    Graph mGraph;
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
    return Parser{parser}.parse(text);
}

} // namespace tenon
