// guarded: work on one node whose exceptions (no memory, mostly) become errors that name its layer.
#pragma once

#include "ir/graph.h"

#include <exception>
#include <new>

namespace tenon::planner
{

//! The error of a layer whose planning ran out of memory: it names the largest tensor that the layer holds.
Error outOfMemory(Graph const& graph, Node const& node, std::bad_alloc const& problem);

//! What `work` answers; errors that it returns are its own to word.
template <typename F>
Result<Done> guarded(Graph const& graph, Node const& node, F const& work)
{
    try
    {
        return work();
    }
    catch (std::bad_alloc const& problem)
    {
        return outOfMemory(graph, node, problem);
    }
    catch (std::exception const& problem)
    {
        return errorOf(ErrorCode::kINTERNAL_ERROR, "[layer '{}'] planning it failed: {}", node.name, problem.what());
    }
}

} // namespace tenon::planner
