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
#include "runtime/known_registers.h"

#include <atomic>

namespace tenon
{

class ContextRunner;

//! How the runs of a context go on the host.
struct HostSettings
{
    std::atomic<int32_t> threads{1};
    std::atomic<int64_t> spin{-1}; //!< Microseconds; −1: the device's own.
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
    mutable KnownRegisters known;
    Bindings bindings;
    ContextMemory memory;
    AttachedKernels attached;
    AuxStreams aux;
    Frames frames;
    ContextUse use;
    //! The user's callbacks may ask the context while it is at work, and must not touch it.
    std::unique_ptr<ContextRunner> runner;

    //! The prepared run for these shapes and values. `key` is theirs, as writeRunKey() makes it of the same.
    Result<std::shared_ptr<PreparedRun const>> findRun(RunShapes const& asked, ShapeKey const& key) const;
    void writeRunKey(RunShapes const& asked, ShapeKey& key) const;
    //! That for these shapes and the addresses that are set.
    Result<std::shared_ptr<PreparedRun const>> runFor(InputShapes const& given) const;
    //! All registers for what is set.
    std::shared_ptr<std::vector<Span> const> registersNow() const
    {
        return shapes.ask([&](InputShapes const& now) { return known.find(now, bindings.addresses()); });
    }
    //! Calls that take away what a run uses are refused in its callbacks and beside it.
    Result<ContextUse::Held> takeToChange();
    static Error isBusy();
};

} // namespace tenon
