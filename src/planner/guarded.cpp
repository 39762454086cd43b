// outOfMemory: what planning a layer allocates grows with its constants, which are packed for kernels.
#include "planner/guarded.h"

namespace tenon::planner
{

namespace
{
//! The largest constant that the node reads; null: it reads none.
Value const* largestConstant(Graph const& graph, Node const& node)
{
    Value const* largest = nullptr;
    for (ValueId const input : node.inputs)
        if (Constant const* const constant = graph.constantOf(input);
            constant != nullptr && (largest == nullptr || constant->bytes() > largest->constant->bytes()))
            largest = &graph.value(input);
    return largest;
}

std::string sizeOf(Value const& value)
{
    std::string text = fmt::format("tensor '{}', {}", value.name, value.type.show());
    return value.constant == nullptr ? text : fmt::format("{}, {} bytes", text, value.constant->bytes());
}
} // namespace

Error outOfMemory(Graph const& graph, Node const& node, std::bad_alloc const& problem)
{
    Value const* largest = largestConstant(graph, node);
    if (largest == nullptr && !node.outputs.empty())
        largest = &graph.value(node.output());
    return errorOf(ErrorCode::kFAILED_ALLOCATION, "[layer '{}'] planning it, out of memory ({}){}", node.name,
        problem.what(), largest == nullptr ? std::string{} : "; its largest constant or result is " + sizeOf(*largest));
}

} // namespace tenon::planner
