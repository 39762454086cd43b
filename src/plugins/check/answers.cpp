// What a plugin answers to questions about shapes, types and formats. Nothing runs here.
#include "plugins/check/groups.h"

namespace tenon::plugins::check
{

using nvinfer1::TensorFormat;

namespace
{
std::string listOf(std::vector<Shape> const& shapes)
{
    std::string text;
    for (Shape const& shape : shapes)
        text += (text.empty() ? "" : ", ") + tenon::show(shape);
    return text;
}

//! The symbolic answer, evaluated at a point, is the answer to the extents of that point.
Result<Done> compareAt(Host& host, Plugin& plugin, Form const& symbolic, Point point)
{
    std::vector<int64_t> const values = symbolic.valuesAt(point);
    auto const at = [&](std::vector<Shape> const& shapes) {
        std::vector<Shape> concrete;
        for (Shape const& shape : shapes)
            for (concrete.emplace_back(); ShapeExpr const& extent : shape)
                concrete.back().emplace_back(extent.evaluate(values));
        return concrete;
    };
    Form concrete;
    concrete.inputs = at(symbolic.inputs);
    concrete.shapeInputs = symbolic.shapeInputs;
    TENON_TRY(host.ask(plugin, concrete));
    std::vector<int64_t> const sizes = concrete.valuesAt(point);
    std::vector<Shape> direct;
    for (Shape const& shape : concrete.outputs)
        for (direct.emplace_back(); ShapeExpr const& extent : shape)
            direct.back().emplace_back(extent.evaluate(sizes));
    if (std::vector<Shape> const evaluated = at(symbolic.outputs); evaluated != direct)
        host.find(flaw::kShapes, Ask::kShapes,
            fmt::format("for inputs {} the expression gives {}, but asked with these extents it answers {}",
                listOf(concrete.inputs), listOf(evaluated), listOf(direct)));
    return Done{};
}

void checkExtents(Host& host, Form const& form)
{
    for (Point const point : kPoints)
    {
        std::vector<int64_t> const values = form.valuesAt(point);
        for (size_t i = 0; i < form.outputs.size(); ++i)
            for (size_t axis = 0; axis < form.outputs[i].size(); ++axis)
                if (int64_t const extent = form.outputs[i][axis].evaluate(values); extent < 0)
                    host.find(flaw::kShapes, Ask::kShapes,
                        fmt::format("extent {} of output {} is {} for inputs at their bounds", axis, i, extent));
    }
}
} // namespace

Result<Done> checkShapes(Host& host)
{
    PluginPtr const plugin = TENON_TRY(host.make());
    int32_t const count = plugin->outputCount();
    if (count < 1 || count != plugin->outputCount())
    {
        host.find(flaw::kOutputs, Ask::kOutputCount, fmt::format("it answers {}", count));
        return Done{};
    }
    auto const form = host.form(*plugin);
    if (!form)
        host.watch().stop();
    Form const first = TENON_TRY(form);
    Form const second = TENON_TRY(host.form(*plugin));
    if (first.outputs != second.outputs || first.sizeOutputs != second.sizeOutputs)
        host.find(flaw::kStable, Ask::kShapes,
            fmt::format("it answered {} and then {}", listOf(first.outputs), listOf(second.outputs)));
    checkExtents(host, first);
    for (Point const point : kPoints)
        if (first.isDynamic())
            TENON_TRY(compareAt(host, *plugin, first, point));
    return Done{};
}

namespace
{
//! The same question with other things behind it.
class Asker
{
  public:
    Asker(Host& host, Plugin& plugin, Ports ports)
        : mHost{host},
          mPlugin{plugin},
          mPorts{std::move(ports)}
    {
    }

    //! Asks about `position`, whose entry and those before it stand.
    void ask(Combination const& combination, size_t position, PortChoice const& choice)
    {
        Ports asked = mPorts;
        for (size_t i = 0; i < position; ++i)
            put(asked.all[i], combination[i].type, combination[i].format);
        put(asked.all[position], choice.type, choice.format);
        auto const at = static_cast<int32_t>(position);
        fillBehind(asked, position, static_cast<DType>(-1), static_cast<TensorFormat>(-1));
        bool const answer = mPlugin.accepts(at, asked);
        if (mPlugin.accepts(at, asked) != answer)
            return mHost.find(flaw::kStable, Ask::kAccepts,
                fmt::format("asked twice about port {} of {}, it answered {} and then {}", position, portsText(asked),
                    answer, !answer));
        for (auto const& [type, format] : {std::pair{choice.type, choice.format},
                 std::pair{DType::kINT8, TensorFormat::kCHW32}, std::pair{DType::kFLOAT, TensorFormat::kLINEAR}})
        {
            Ports other = asked;
            fillBehind(other, position, type, format);
            if (position + 1 < other.all.size() && mPlugin.accepts(at, other) != answer)
                return mHost.find(flaw::kLooksAhead, Ask::kAccepts,
                    fmt::format("about port {} it answers {} with {}, and {} with {}", position, answer,
                        portsText(asked), !answer, portsText(other)));
        }
    }

  private:
    static void put(Port& port, DType type, TensorFormat format)
    {
        port.desc.type = type;
        port.desc.format = format;
        port.desc.scale = type == DType::kINT8 ? 1.0F : -1.0F;
    }
    static void fillBehind(Ports& ports, size_t position, DType type, TensorFormat format)
    {
        for (size_t i = position + 1; i < ports.all.size(); ++i)
            put(ports.all[i], type, format);
    }

    Host& mHost;
    Plugin& mPlugin;
    Ports mPorts;
};
} // namespace

Result<Done> checkFormats(Host& host)
{
    PluginPtr const plugin = TENON_TRY(host.make());
    Form const form = TENON_TRY(host.form(*plugin));
    Ports const ports = form.buildPorts();
    std::vector<Combination> const combinations = TENON_TRY(host.combinations(*plugin, form));
    Asker asker{host, *plugin, ports};
    for (Combination const& combination : combinations)
        for (size_t position = 0; position < combination.size(); ++position)
            for (DType const type : {combination[position].type, DType::kFLOAT, DType::kHALF, DType::kINT8})
                asker.ask(combination, position, {type, combination[position].format});
    return Done{};
}

} // namespace tenon::plugins::check
