// PreparedRun: everything about a run that shapes alone decide; immutable and shared by contexts.
#pragma once

#include "device/device.h"
#include "plan/arena.h"
#include "plan/plan.h"
#include "plan/register_values.h"
#include "runtime/lru_cache.h"

#include "NvInferRuntimeBase.h"

namespace tenon
{

struct EngineState;

struct PreparedStep
{
    std::vector<TensorArg> inputs;
    std::vector<TensorArg> outputs;
    std::shared_ptr<Prepared const> prepared;
    bool isShared{false}; //!< An earlier shape has it, too.
};

//! Steps of one segment, ready for given extents.
struct PreparedTail
{
    ShapeKey key;                //!< Of tails.
    std::vector<Span> registers; //!< Known values are intervals of one; data yet to come stands at its bound.
    std::vector<PreparedStep> steps;
    size_t scratch{0};
    size_t segment{0};
    int32_t threads{1};

    size_t bytes() const noexcept; //!< Of memory that it takes, about; what steps share with others not counted.
};

//! The first segment, and the arena of all.
struct PreparedRun
{
    ShapeKey key;
    PreparedTail head;
    std::vector<int64_t> offsets; //!< Of blocks.
    std::vector<int64_t> capacity;
    int64_t arenaBytes{0};
    int32_t threads{1};

    size_t bytes() const noexcept;
};

//! Values of symbols that are known before the run, and how to run.
struct RunShapes
{
    int32_t profile{0};
    int32_t threads{1};
    bool apart{false};                           //!< No block is shared in place.
    std::span<nvinfer1::Dims64 const> inputDims; //!< One per input, concrete.
    std::span<Span const> symbols;               //!< One per symbol; kData ones are ignored.
};

Result<std::shared_ptr<PreparedRun const>> prepareRun(EngineState const& engine, ShapeKey key, RunShapes const& shapes);

//! The segment after values became known: `known` has one entry per symbol, `registers` their values.
Result<std::shared_ptr<PreparedTail const>> prepareTail(EngineState const& engine, ShapeKey key, PreparedRun const& run,
    size_t segment, std::span<uint8_t const> known, std::span<Span const> symbols, bool apart);

//! All registers for symbols at hand.
std::vector<Span> evaluateAll(
    EngineState const& engine, std::span<Span const> symbols, DataSymbols data, std::span<uint8_t const> known);

//! Extents of a tensor; an error when one is not known or, but for kValues, negative.
Result<TensorArg> argOf(EngineState const& engine, int32_t tensor, std::span<Span const> registers);

//! "[layer 'x']" of a step.
std::string stepLabel(EngineState const& engine, int32_t step);

} // namespace tenon
