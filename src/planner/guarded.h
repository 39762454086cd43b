// guarded: work on one node whose exceptions (no memory, mostly) become errors that name its layer.
#pragma once

#include "ir/graph.h"

#include <exception>
#include <new>

namespace tenon::planner
{

//! What `work` answers; errors that it returns are its own to word.
template <typename F>
Result<Done> guarded(Node const& node, F const& work)
{
    try
    {
        return work();
    }
    catch (std::bad_alloc const& problem)
    {
        return errorOf(
            ErrorCode::kFAILED_ALLOCATION, "[layer '{}'] planning it, out of memory: {}", node.name, problem.what());
    }
    catch (std::exception const& problem)
    {
        return errorOf(ErrorCode::kINTERNAL_ERROR, "[layer '{}'] planning it failed: {}", node.name, problem.what());
    }
}

} // namespace tenon::planner
