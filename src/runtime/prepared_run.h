// PreparedRun: everything about a run that shapes alone decide; immutable and shared by contexts.
#pragma once

#include "device/device.h"
#include "plan/arena.h"
#include "plan/plan.h"
#include "plan/register_values.h"
#include "runtime/lru_cache.h"

#include "NvInferRuntimeBase.h"

#include <array>

namespace tenon
{

struct EngineState;
class InputShapes;
struct LoadedProgram;

struct PreparedStep
{
    std::vector<TensorArg> inputs;
    std::vector<TensorArg> outputs;
    std::shared_ptr<Prepared const> prepared;
    bool isShared{false};   //!< An earlier shape has it, too.
    size_t scratchBegin{0}; //!< Where its kernel's scratch memory begins in that of its place.
};

//! Steps of one segment, ready for given extents.
struct PreparedTail
{
    ShapeKey key; //!< Of tails.
    std::vector<PreparedStep> steps;
    std::array<size_t, kPlaceCount> scratchBytes{}; //!< Of kernels, by place.
    size_t segment{0};
    int32_t threads{1};
    int64_t generation{0}; //!< Of the program that its steps were prepared by.

    size_t bytes() const noexcept; //!< Of memory that it takes, about; what steps share with others not counted.
};

//! The first segment, and the arena of all.
struct PreparedRun
{
    ShapeKey key; //!< The generation of `loaded` in front.
    std::shared_ptr<LoadedProgram const> loaded;
    PreparedTail head;
    std::vector<Span> registers;  //!< Before its first step; data yet to come stands at its bound.
    std::vector<int64_t> offsets; //!< Of blocks.
    std::vector<int64_t> capacity;
    int64_t arenaBytes{0};
    int64_t hostBytes{0}; //!< Of the arena in memory of the host.
    int32_t threads{1};
    //! How many times larger the largest input is than the plan was made for; 1 where none is.
    float growth{1.0F};

    size_t bytes() const noexcept;
};

//! What a run is prepared for and found by.
struct RunShapes
{
    InputShapes const& inputs;     //!< All are set.
    std::span<Span const> symbols; //!< Values of all that are known before the run; kData ones are ignored.
    int32_t threads{1};
    bool apart{false}; //!< No block is shared in place.
};

Result<std::shared_ptr<PreparedRun const>> prepareRun(EngineState const& engine, ShapeKey key, RunShapes const& shapes);

//! What has become known before a later segment.
struct TailShapes
{
    size_t segment{0};
    std::span<Span const> registers; //!< Known values are intervals of one; data yet to come stands at its bound.
    bool apart{false};
};

//! The segment for these values. Steps whose extents are those of `former`, another tail of the segment, share with it.
//! Null: with the latest of the engine's, where that is one.
Result<std::shared_ptr<PreparedTail const>> prepareTail(EngineState const& engine, ShapeKey key, PreparedRun const& run,
    TailShapes const& shapes, std::shared_ptr<PreparedTail const> former);

//! All registers for symbols at hand.
std::vector<Span> evaluateAll(
    EngineState const& engine, std::span<Span const> symbols, DataSymbols data, std::span<uint8_t const> known);

//! Extents of a tensor; an error when one is not known or, but for kValues, negative.
Result<TensorArg> argOf(EngineState const& engine, int32_t tensor, std::span<Span const> registers);

//! "[layer 'x']" of a step.
std::string stepLabel(EngineState const& engine, int32_t step);

} // namespace tenon
