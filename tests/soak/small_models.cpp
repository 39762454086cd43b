#include "soak/small_models.h"

#include "support/device.h"
#include "support/onnx_bytes.h"

#include <cmath>

namespace apitest
{

using namespace tenon::test::onnxbytes;
using Extents = std::vector<uint64_t>;

namespace
{
//! Nodes and weights of a graph, with seeds of their own.
class GraphBytes
{
  public:
    explicit GraphBytes(uint32_t seed)
        : mSeed{seed}
    {
    }
    //! Random weights; the name.
    std::string floats(std::string const& name, Extents const& extents, float scale, float offset = 0.0F)
    {
        size_t count{1};
        for (uint64_t const extent : extents)
            count *= extent;
        std::vector<float> values = tenon::test::randomFloats(count, ++mSeed);
        for (float& each : values)
            each = offset + scale * (offset > 0.0F ? std::abs(each) : each);
        bytes += initializer(name, extents, values);
        return name;
    }
    std::string integers(std::string const& name, std::vector<int64_t> const& values)
    {
        bytes += initializer(name, {values.size()}, values);
        return name;
    }
    std::string add(std::string const& kind, std::vector<std::string> const& inputs, std::string const& output,
        std::string const& attributes = {})
    {
        bytes += node(kind, inputs, output, attributes);
        return output;
    }
    //! x · w + b.
    std::string linear(std::string const& x, uint64_t rows, uint64_t columns, std::string const& output)
    {
        std::string const w = floats(output + ".w", {rows, columns}, 1.0F / std::sqrt(static_cast<float>(rows)));
        std::string const b = floats(output + ".b", {columns}, 0.1F);
        return add("Add", {add("MatMul", {x, w}, output + ".product"), b}, output);
    }
    std::string layerNorm(std::string const& x, uint64_t width, std::string const& output)
    {
        return add("LayerNormalization",
            {x, floats(output + ".scale", {width}, 0.1F, 1.0F), floats(output + ".bias", {width}, 0.1F)}, output,
            whole("axis", -1));
    }
    std::string convolution(
        std::string const& x, uint64_t channels, uint64_t maps, uint64_t groups, std::string const& output)
    {
        uint64_t const each = channels / groups;
        std::string const kernel =
            floats(output + ".kernel", {maps, each, 3, 3}, 1.0F / std::sqrt(9.0F * static_cast<float>(each)));
        std::string const rough = add("Conv", {x, kernel}, output + ".conv",
            wholes("pads", {1, 1, 1, 1}) + whole("group", static_cast<int64_t>(groups)));
        return add("BatchNormalization",
            {rough, floats(output + ".scale", {maps}, 0.1F, 1.0F), floats(output + ".shift", {maps}, 0.1F),
                floats(output + ".mean", {maps}, 0.1F), floats(output + ".variance", {maps}, 0.1F, 1.0F)},
            output);
    }
    std::string bytes;

  private:
    uint32_t mSeed;
};
} // namespace

std::string smallResnet()
{
    GraphBytes graph{100};
    std::string x = graph.add("Relu", {graph.convolution("x", 3, 16, 1, "stem")}, "stem.relu");
    for (std::string const block : {"first", "second"})
    {
        std::string const wide = graph.add("Relu", {graph.convolution(x, 16, 16, 16, block + ".depth")}, block + ".r");
        std::string const back = graph.convolution(wide, 16, 16, 1, block + ".dense");
        x = graph.add("Relu", {graph.add("Add", {back, x}, block + ".sum")}, block + ".out");
    }
    graph.add("Flatten", {graph.add("GlobalAveragePool", {x}, "pool")}, "flat");
    graph.add("Softmax", {graph.linear("flat", 16, 10, "head")}, "y", whole("axis", -1));
    return model(graph.bytes + end(11, "x", {1, 3, 12, 12}) + end(12, "y", {1, 10}));
}

std::string smallBert()
{
    constexpr uint64_t kRows{8};
    constexpr uint64_t kWidth{16};
    GraphBytes graph{200};
    graph.add("Gather", {graph.floats("table", {120, kWidth}, 1.0F), "tokens"}, "embedded");
    graph.add("Add", {"embedded", graph.floats("places", {1, kRows, kWidth}, 1.0F)}, "placed");
    std::string const x = graph.layerNorm("placed", kWidth, "norm");
    graph.integers("heads", {1, kRows, 2, kWidth / 2});
    graph.integers("whole", {1, kRows, kWidth});
    auto const byHead = [&](std::string const& name, std::vector<int64_t> const& order) {
        graph.add("Reshape", {graph.linear(x, kWidth, kWidth, name), "heads"}, name + ".heads");
        return graph.add("Transpose", {name + ".heads"}, name + ".turned", wholes("perm", order));
    };
    graph.add("MatMul", {byHead("query", {0, 2, 1, 3}), byHead("key", {0, 2, 3, 1})}, "scores");
    graph.add("Softmax", {graph.add("Mul", {"scores", graph.floats("factor", {1}, 0.1F, 0.3F)}, "scaled")}, "shares",
        whole("axis", -1));
    graph.add("MatMul", {"shares", byHead("value", {0, 2, 1, 3})}, "mixed");
    graph.add("Transpose", {"mixed"}, "mixed.turned", wholes("perm", {0, 2, 1, 3}));
    graph.add("Reshape", {"mixed.turned", "whole"}, "attended");
    graph.add("Add", {graph.linear("attended", kWidth, kWidth, "out"), x}, "first.sum");
    std::string const mid = graph.layerNorm("first.sum", kWidth, "mid");
    graph.add("Erf", {graph.linear(mid, kWidth, 4 * kWidth, "wide")}, "wide.erf");
    graph.add("Add", {graph.linear("wide.erf", 4 * kWidth, kWidth, "narrow"), mid}, "second.sum");
    graph.layerNorm("second.sum", kWidth, "y");
    return model(graph.bytes + end(11, "tokens", {1, kRows}, Type::kInt64) + end(12, "y", {1, kRows, kWidth}));
}

std::string smallConditional()
{
    GraphBytes yes{300};
    yes.linear("middle", 16, 8, "chosen.yes");
    GraphBytes no{400};
    no.add("Tanh", {no.linear("middle", 16, 8, "straight")}, "chosen.no");
    GraphBytes graph{500};
    graph.linear("x", 12, 16, "middle");
    graph.add("ReduceMean", {"middle"}, "mean", whole("keepdims", 0));
    graph.add("Greater", {"mean", graph.floats("bound", {1}, 0.01F)}, "is.one");
    graph.add("Squeeze", {"is.one"}, "is");
    Extents const shape{4, 8};
    graph.add("If", {"is"}, "chosen",
        body("then_branch", yes.bytes + end(12, "chosen.yes", shape))
            + body("else_branch", no.bytes + end(12, "chosen.no", shape)));
    graph.linear("chosen", 8, 4, "y");
    return model(graph.bytes + end(11, "x", {4, 12}) + end(12, "y", {4, 4}));
}

} // namespace apitest
