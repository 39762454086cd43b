// alignConstants: what is read is collected, then copied in parts that threads share.
#include "ir/aligned_constants.h"

#include "base/in_parallel.h"
#include "ir/filled_constant.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

namespace tenon
{

namespace
{
bool isMisaligned(Constant const& constant) noexcept
{
    int64_t const each = bytesOf(constant.dtype, 1);
    return each > 1 && reinterpret_cast<uintptr_t>(constant.data) % static_cast<uintptr_t>(each) != 0;
}

class Misaligned
{
  public:
    void collect(Graph const& graph)
    {
        for (NodeId const id : graph.order())
        {
            Node const& node = graph.node(id);
            for (ValueId const input : node.inputs)
                add(graph, input);
            for (BodyPtr const& body : node.layer->bodies())
                collect(*body);
        }
        for (GraphOutput const& output : graph.outputs())
            add(graph, output.value);
    }

    void align(int32_t threads)
    {
        struct Part
        {
            uint8_t const* from;
            uint8_t* to;
            size_t bytes;
        };
        constexpr size_t kPart{size_t{1} << 20};
        std::vector<Part> parts;
        std::vector<std::shared_ptr<Constant const>> copies;
        for (auto const& [data, constants] : mByData)
        {
            Constant const& longest = *std::ranges::max(constants, {}, &Constant::bytes);
            copies.push_back(makeConstantBy(longest.dtype, longest.extents, [](void*) {}));
            auto const* const from = static_cast<uint8_t const*>(data);
            auto* const to = static_cast<uint8_t*>(const_cast<void*>(copies.back()->data));
            auto const bytes = static_cast<size_t>(longest.bytes());
            for (size_t at = 0; at < bytes; at += kPart)
                parts.push_back({from + at, to + at, std::min(kPart, bytes - at)});
        }
        inParallel(parts.size(), threads, [&](size_t i) { std::memcpy(parts[i].to, parts[i].from, parts[i].bytes); });
        auto copy = copies.begin();
        for (auto const& [data, constants] : mByData)
        {
            for (Constant* const constant : constants)
            {
                constant->data = (*copy)->data;
                constant->owner = (*copy)->owner;
            }
            ++copy;
        }
    }

  private:
    void add(Graph const& graph, ValueId value)
    {
        Constant const* const constant = graph.constantOf(value);
        if (constant == nullptr || !isMisaligned(*constant))
            return;
        // The same contents at another address: the one thing that is changed of a constant that others may have.
        auto& constants = mByData[constant->data];
        if (std::ranges::find(constants, constant) == constants.end())
            constants.push_back(const_cast<Constant*>(constant));
    }

    std::map<void const*, std::vector<Constant*>> mByData;
};
} // namespace

void alignConstants(Graph& graph, int32_t threads)
{
    Misaligned misaligned;
    misaligned.collect(graph);
    misaligned.align(threads);
}

} // namespace tenon
