// ContextState: what a context remembers between calls: an owner for each of its concerns.
#pragma once

#include "runtime/attached_kernels.h"
#include "runtime/aux_streams.h"
#include "runtime/bindings.h"
#include "runtime/context.h"
#include "runtime/context_memory.h"
#include "runtime/context_shapes.h"
#include "runtime/context_use.h"
#include "runtime/frames.h"

namespace tenon
{

class ContextRunner;

//! How the runs of a context go on the host.
struct HostSettings
{
    int32_t threads{1};
    int64_t spin{-1}; //!< Microseconds; −1: the device's own.
};

struct ContextState : public std::enable_shared_from_this<ContextState>
{
    ContextState(std::shared_ptr<Engine> parent, MemoryStrategy strategy);
    ~ContextState();

    std::shared_ptr<Engine> const owner;
    EngineState const& engine;
    Log log;
    HostSettings host;
    void* consumed{nullptr}; //!< Event of the user's.

    ContextShapes shapes;
    Bindings bindings;
    ContextMemory memory;
    AttachedKernels attached;
    AuxStreams aux;
    Frames frames;
    ContextUse use;
    //! The user's callbacks may ask the context while it is at work, and must not touch it.
    std::unique_ptr<ContextRunner> runner;

    //! The prepared run for shapes, profile and values of shape tensors. `key` is theirs, as writeRunKey() makes it.
    Result<std::shared_ptr<PreparedRun const>> findRun(
        bool apart, std::span<Span const> symbols, ShapeKey const& key) const;
    void writeRunKey(bool apart, std::span<Span const> symbols, ShapeKey& key) const;
    //! That for the shapes and addresses that are set.
    Result<std::shared_ptr<PreparedRun const>> runNow() const;
    //! All registers for those.
    std::vector<Span> registersNow() const
    {
        return shapes.registersFor(bindings.addresses());
    }
    //! Calls that take away what a run uses are refused in its callbacks and beside it.
    Result<ContextUse::Held> takeToChange();
    static Error isBusy();
};

} // namespace tenon
