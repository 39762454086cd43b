// Preparing runs: extents of all operands, the arena, and each kernel for its shapes.
#include "runtime/prepared_run.h"

#include "plan/lookup.h"
#include "plan/regions.h"
#include "runtime/engine_state.h"
#include "runtime/input_shapes.h"
#include "runtime/reshape_chain.h"

#include <algorithm>

namespace tenon
{

namespace
{
Result<Done> fillArena(
    EngineState const& engine, RunShapes const& shapes, std::span<Span const> registers, PreparedRun& run)
{
    auto const alignment = static_cast<int64_t>(engine.device().alignment());
    std::vector<ArenaBlock> const blocks =
        TENON_TRY(sizedBlocks(*engine.program, shapes.apart ? engine.apart : engine.shared, registers));
    ArenaLayout layout = layOut(blocks, alignment);
    if (!shapes.apart)
    {
        // Greedy layouts are not monotone: a smaller shape can need more than what the bound promised. The layout of
        // the bound holds for it too.
        auto const bound = boundOf(engine, shapes.inputs.profile());
        if (bound && layout.bytes > (*bound)->layout.bytes)
        {
            for (size_t i = 0; i < blocks.size(); ++i)
                if (blocks[i].bytes > (*bound)->blocks[i].bytes)
                    return badArgument("tensors take more memory than profile {} allows", shapes.inputs.profile());
            layout = (*bound)->layout;
        }
    }
    run.offsets = std::move(layout.offsets);
    run.arenaBytes = layout.bytes;
    run.hostBytes = layout.hostBytes;
    for (ArenaBlock const& block : blocks)
        run.capacity.push_back(block.bytes);
    return Done{};
}

//! Steps of one segment.
class StepPreparer
{
  public:
    StepPreparer(EngineState const& engine, PreparedRun const& run, std::span<Span const> registers, bool apart)
        : mEngine{engine},
          mRun{run},
          mRegisters{registers},
          mApart{apart}
    {
    }

    Result<PreparedStep> prepare(int32_t index, PreparedStep const* former)
    {
        TENON_TRY(checkReshapes(mEngine.program->steps[asSize(index)]));
        auto step = prepareUnnamed(index, former);
        if (!step)
            return std::move(step).error().in(stepLabel(mEngine, index));
        return step;
    }

  private:
    Result<PreparedStep> prepareUnnamed(int32_t index, PreparedStep const* former)
    {
        PlanStep const& stored = mEngine.program->steps[asSize(index)];
        PreparedStep step;
        for (int32_t const input : stored.inputs)
        {
            step.inputs.push_back(TENON_TRY(operand(input)));
            // Values have no memory: but for what writes them, kernels see an absent operand whose extents are the
            // values (see LayerArgs), so that one that would read it refuses.
            if (input >= 0 && mEngine.program->tensors[asSize(input)].kind == PlanTensorKind::kValues
                && roleOf(stored) != StepRole::kShapeValues)
                step.inputs.back().present = false;
        }
        for (int32_t const output : stored.outputs)
            step.outputs.push_back(TENON_TRY(operand(output)));
        // Most steps of a new shape often have the extents of the shape before.
        if (former != nullptr && former->inputs == step.inputs && former->outputs == step.outputs)
        {
            step.prepared = former->prepared;
            step.isShared = true;
        }
        else
            step.prepared = TENON_TRY(kernel(index).prepare(step.inputs, step.outputs, mRun.threads));
        return step;
    }

    Kernel& kernel(int32_t index) const
    {
        return *mRun.loaded->kernels[asSize(index)];
    }

    Result<TensorArg> operand(int32_t tensor)
    {
        if (tensor < 0)
            return TensorArg{DType::kFLOAT, Layout::kLinear, {}, false};
        TensorArg arg = TENON_TRY(argOf(mEngine, tensor, mRegisters));
        TENON_TRY(checkMemory(tensor, arg));
        return arg;
    }

    //! A plan may lie: no operand is larger than the memory behind it.
    Result<Done> checkMemory(int32_t tensor, TensorArg const& arg)
    {
        PlanTensor const& stored = mEngine.program->tensors[asSize(tensor)];
        TensorPlace const& place = mEngine.places[asSize(tensor)];
        if (stored.kind == PlanTensorKind::kValues)
            return Done{};
        int64_t const bytes = TENON_TRY(bytesOfParts(tensor, arg));
        int64_t room{bytes};
        if (place.kind == PlanTensorKind::kActivation)
            room = mRun.capacity[asSize(mApart ? place.blockApart : place.block)];
        else if (place.kind == PlanTensorKind::kIO)
            room = TENON_TRY(argOf(mEngine, place.root, mRegisters)).bytes();
        else if (PlanWeight const& weight = mRun.loaded->weights[asSize(place.index)]; weight.packing.empty())
            room = static_cast<int64_t>(weight.bytes);
        else if (arg.extents != weight.extents)
            return badArgument("packed weight '{}' is used with other extents than its own", weight.name);
        if (bytes < 0 || bytes > room)
            return badArgument("tensor '{}' takes {} bytes where {} are", stored.name, bytes, room);
        return Done{};
    }

    //! Of all slices that the tensor is in turn, where it is one.
    Result<int64_t> bytesOfParts(int32_t tensor, TensorArg const& arg) const
    {
        int64_t bytes = arg.bytes();
        for (int32_t at = tensor; bytes > 0;)
        {
            PlanTensor const& stored = mEngine.program->tensors[asSize(at)];
            if (int32_t const part = mEngine.places[asSize(at)].part; part >= 0)
            {
                Span const length = mRegisters[asSize(mEngine.parts[asSize(part)].part->length)];
                if (!length.isKnown() || length.lo < 0 || __builtin_mul_overflow(bytes, length.lo, &bytes))
                    return badArgument("tensor '{}' is a slice of {}", stored.name, length.lo);
            }
            if (stored.kind != PlanTensorKind::kView && stored.kind != PlanTensorKind::kPart)
                break;
            at = stored.index;
        }
        return bytes;
    }

    //! A reshape of another tensor keeps its volume, which run-time values may break.
    Result<Done> checkReshapes(PlanStep const& step) const
    {
        for (auto const* const operands : {&step.inputs, &step.outputs})
            for (int32_t const tensor : *operands)
            {
                if (tensor < 0 || mEngine.program->tensors[asSize(tensor)].kind != PlanTensorKind::kView)
                    continue;
                int32_t root = mEngine.program->tensors[asSize(tensor)].index;
                while (mEngine.program->tensors[asSize(root)].kind == PlanTensorKind::kView)
                    root = mEngine.program->tensors[asSize(root)].index;
                auto const shown = argOf(mEngine, tensor, mRegisters);
                auto const whole = argOf(mEngine, root, mRegisters);
                if (shown && whole && shown->bytes() != whole->bytes())
                    return explainReshape(mEngine, tensor, root, mRegisters);
            }
        return Done{};
    }

    EngineState const& mEngine;
    PreparedRun const& mRun;
    std::span<Span const> mRegisters;
    bool mApart;
};

//! Kernels' scratch memory in one place: steps that follow each other share theirs, those of one stream and those of
//! different regions.
void layOutScratch(EngineState const& engine, int32_t first, Place place, PreparedTail& tail)
{
    using ByStream = std::array<size_t, kMaxAuxStreams + 1>;
    size_t const alignment = engine.device().alignment();
    size_t& all = tail.scratchBytes[static_cast<size_t>(place)];
    auto const stepAt = [&](size_t i) -> PlanStep const& { return engine.program->steps[asSize(first) + i]; };
    auto const regionAt = [&](size_t i) { return engine.regionOf[asSize(first) + i]; };
    for (size_t i = 0, end = 0; i < tail.steps.size(); i = end)
    {
        ByStream most{};
        for (end = i; end < tail.steps.size() && regionAt(end) == regionAt(i); ++end)
            if (PlanStep const& step = stepAt(end); step.place == place)
                most[asSize(step.stream)] =
                    std::max(most[asSize(step.stream)], tail.steps[end].prepared->scratchBytes());
        ByStream begin{};
        size_t used{0};
        for (size_t stream = 0; stream < most.size(); ++stream)
        {
            // Also of no bytes: libraries look at the address before they look at the size.
            begin[stream] = (used + alignment - 1) / alignment * alignment;
            used = most[stream] > 0 ? begin[stream] + most[stream] : used;
        }
        for (size_t j = i; j < end; ++j)
            if (stepAt(j).place == place)
                tail.steps[j].scratchBegin = begin[asSize(stepAt(j).stream)];
        all = std::max(all, used);
    }
}

Result<Done> prepareSteps(EngineState const& engine, PreparedRun const& run, TailShapes const& shapes,
    PreparedTail const* former, PreparedTail& tail)
{
    StepPreparer preparer{engine, run, shapes.registers, shapes.apart};
    auto const [first, last] = engine.segments[shapes.segment];
    for (int32_t i = first; i < last; ++i)
    {
        PreparedStep const* const same = former == nullptr ? nullptr : &former->steps[asSize(i - first)];
        tail.steps.push_back(TENON_TRY(preparer.prepare(i, same)));
    }
    for (Place const place : {Place::kDevice, Place::kHost})
        layOutScratch(engine, first, place, tail);
    return Done{};
}

//! What the program says of inputs is what the user set; extents that the plan declares hold.
Result<Done> checkIO(
    EngineState const& engine, std::span<nvinfer1::Dims64 const> inputDims, std::span<Span const> registers)
{
    for (size_t i = 0; i < engine.io.size(); ++i)
    {
        if (engine.io[i].tensor < 0)
            continue;
        PlanIO const& io = engine.plan->io[i];
        PlanTensor const& tensor = engine.program->tensors[asSize(engine.io[i].tensor)];
        for (size_t j = 0; j < tensor.extents.size(); ++j)
        {
            Span const extent = registers[asSize(tensor.extents[j])];
            int64_t const wanted = io.isInput ? inputDims[i].d[j] : io.dims.d[j];
            if (io.isInput && extent != Span{wanted, wanted})
                return badConfig("input '{}': extent {} is {}, but the network makes it equal to another that is {}",
                    io.name, j, wanted, extent.lo);
            if (!io.isInput && extent.isKnown() && (extent.lo < 0 || (wanted >= 0 && extent.lo != wanted)))
                return badArgument("output '{}': extent {} would be {}", io.name, j, extent.lo);
        }
    }
    return Done{};
}

bool hasDataSymbols(Program const& program)
{
    return std::ranges::any_of(
        program.symbols, [](PlanSymbol const& symbol) { return symbol.kind == PlanSymbolKind::kData; });
}

size_t bytesOf(std::vector<TensorArg> const& tensors) noexcept
{
    size_t bytes{0};
    for (TensorArg const& tensor : tensors)
        bytes += sizeof tensor + tensor.extents.size() * sizeof(int64_t);
    return bytes;
}

//! By the optimum of profile 0, which kernels were chosen for.
float growthOf(EngineState const& engine, std::span<nvinfer1::Dims64 const> inputDims)
{
    if (engine.plan->profiles.empty())
        return 1.0F;
    auto const elements = [](nvinfer1::Dims64 const& dims) {
        float product{1.0F};
        for (int32_t i = 0; i < dims.nbDims; ++i)
            product *= static_cast<float>(std::max<int64_t>(dims.d[i], 1));
        return product;
    };
    float growth{1.0F};
    for (PlanProfileInput const& input : engine.plan->profiles.front().inputs)
        growth = std::max(growth, elements(inputDims[asSize(input.io)]) / elements(input.opt));
    return growth;
}
} // namespace

size_t PreparedTail::bytes() const noexcept
{
    constexpr size_t kPerKernel{1024}; // Most are smaller; those with tables are larger.
    size_t bytes = sizeof(*this) + key.size() * sizeof(int64_t);
    for (PreparedStep const& step : steps)
        bytes += sizeof step + bytesOf(step.inputs) + bytesOf(step.outputs) + (step.isShared ? 0 : kPerKernel);
    return bytes;
}

size_t PreparedRun::bytes() const noexcept
{
    return sizeof(*this) + head.bytes() + registers.size() * sizeof(Span)
        + (key.size() + offsets.size() + capacity.size()) * sizeof(int64_t);
}

std::string stepLabel(EngineState const& engine, int32_t step)
{
    return "[layer '" + engine.program->steps[asSize(step)].name + "']";
}

std::vector<Span> evaluateAll(
    EngineState const& engine, std::span<Span const> symbols, DataSymbols data, std::span<uint8_t const> known)
{
    std::vector<Span> registers(engine.program->symbols.size() + engine.program->shapes.size());
    std::ranges::copy(symbols, registers.begin());
    evaluate(*engine.program, engine.order, data, known, registers);
    return registers;
}

Result<TensorArg> argOf(EngineState const& engine, int32_t tensor, std::span<Span const> registers)
{
    PlanTensor const& stored = engine.program->tensors[asSize(tensor)];
    TensorArg arg{stored.dtype, stored.layout, {}, true, stored.name, stored.place};
    arg.extents.reserve(stored.extents.size());
    for (int32_t const reg : stored.extents)
    {
        Span const extent = registers[asSize(reg)];
        if (!extent.isKnown())
            return badArgument("an extent of tensor '{}' is not known", stored.name);
        if (extent.lo < 0 && stored.kind != PlanTensorKind::kValues)
            return badArgument("tensor '{}' would have the extent {} for the shapes at hand", stored.name, extent.lo);
        arg.extents.push_back(extent.lo);
    }
    return arg;
}

Result<ArenaBound const*> boundOf(EngineState const& engine, int32_t profile)
{
    std::scoped_lock const lock{engine.boundMutex};
    std::optional<ArenaBound>& bound = engine.bounds[asSize(profile)];
    if (!bound)
        bound = TENON_TRY(boundArena(*engine.plan, *engine.program, engine.shared, asSize(profile),
            static_cast<int64_t>(engine.device().alignment())));
    return &*bound;
}

Result<std::shared_ptr<PreparedRun const>> prepareRun(EngineState const& engine, ShapeKey key, RunShapes const& shapes)
{
    auto run = std::make_shared<PreparedRun>();
    run->threads = shapes.threads;
    run->growth = growthOf(engine, shapes.inputs.dims());
    run->loaded = engine.loaded();
    if (!run->loaded->lacking.empty())
        return errorOf(ErrorCode::kINVALID_STATE,
            "the plan came without {} of its weights: give them by a refitter before the first run",
            run->loaded->lacking.size());
    run->key = std::move(key);
    run->key.front() = run->head.generation = run->loaded->generation;
    std::vector<uint8_t> const unknown(engine.program->symbols.size(), 0);
    run->registers = evaluateAll(engine, shapes.symbols, DataSymbols::kAtBound, unknown);
    bool const data = hasDataSymbols(*engine.program);
    std::vector<Span> const anywhere =
        data ? evaluateAll(engine, shapes.symbols, DataSymbols::kAnywhere, unknown) : run->registers;
    TENON_TRY(checkIO(engine, shapes.inputs.dims(), anywhere));
    TENON_TRY(fillArena(engine, shapes, anywhere, *run));
    auto const former = engine.runs.latest();
    bool const usable = former != nullptr && former->threads == run->threads && former->loaded == run->loaded;
    TENON_TRY(
        prepareSteps(engine, *run, {0, run->registers, shapes.apart}, usable ? &former->head : nullptr, run->head));
    return std::shared_ptr<PreparedRun const>{std::move(run)};
}

Result<std::shared_ptr<PreparedTail const>> prepareTail(EngineState const& engine, ShapeKey key, PreparedRun const& run,
    TailShapes const& shapes, std::shared_ptr<PreparedTail const> former)
{
    auto tail = std::make_shared<PreparedTail>();
    tail->key = std::move(key);
    tail->segment = shapes.segment;
    tail->threads = run.threads;
    tail->generation = run.loaded->generation;
    if (former == nullptr)
        former = engine.tails.latest();
    bool const isUsable = former != nullptr && former->segment == tail->segment && former->threads == tail->threads
        && former->generation == tail->generation;
    TENON_TRY(prepareSteps(engine, run, shapes, isUsable ? former.get() : nullptr, *tail));
    return std::shared_ptr<PreparedTail const>{std::move(tail)};
}

} // namespace tenon
