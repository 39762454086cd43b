// loadEngine: tables of a program.
#include "runtime/engine_state.h"

#include "plan/check.h"
#include "plan/controls.h"
#include "plan/handovers.h"
#include "plan/lookup.h"
#include "plan/regions.h"
#include "runtime/needed_plugins.h"

#include <algorithm>

namespace tenon
{

namespace
{
class Loader
{
  public:
    explicit Loader(EngineState& engine)
        : mEngine{engine},
          mPlan{*engine.plan},
          mProgram{*engine.program}
    {
    }

    Result<Done> load()
    {
        mEngine.order = evaluationOrder(mProgram);
        mEngine.knownAfter = knownAfter(mProgram);
        findIO();
        findSegments();
        findWriters();
        mEngine.shared = planBlocks(mPlan, mProgram, true);
        mEngine.apart = planBlocks(mPlan, mProgram, false);
        mEngine.handovers = handoversOf(mProgram);
        mEngine.regionOf = regionOfSteps(regionsOf(mProgram));
        takeBlocks();
        findFollowing();
        findTold();
        makeSlots();
        findRead();
        findStreams();
        findMoving();
        TENON_TRY(checkPlugins(mPlan, mEngine.options.plugins));
        TENON_TRY(checkCode());
        Device const& device = mEngine.device();
        if (mPlan.streamsWeights && device.usesHostMemory() && device.runsHostCode())
            mEngine.weightBudget = std::make_unique<WeightBudget>(mEngine);
        mEngine.setLoaded(TENON_TRY(loadProgram(mEngine, mPlan.weights, nullptr)));
        return Done{};
    }

  private:
    void findIO()
    {
        mEngine.io.resize(mPlan.io.size());
        for (size_t i = 0; i < mPlan.io.size(); ++i)
        {
            mEngine.ioByName.emplace(mPlan.io[i].name, static_cast<int32_t>(i));
            mEngine.inputs += mPlan.io[i].isInput ? 1 : 0;
        }
        mEngine.places.resize(mProgram.tensors.size());
        for (size_t i = 0; i < mProgram.tensors.size(); ++i)
        {
            int32_t const root = rootOf(mProgram, static_cast<int32_t>(i));
            PlanTensor const& memory = mProgram.tensors[asSize(root)];
            mEngine.places[i] = {root, memory.kind, memory.index};
            if (mProgram.tensors[i].kind != PlanTensorKind::kIO)
                continue;
            IOFacts& facts = mEngine.io[asSize(memory.index)];
            facts.tensor = static_cast<int32_t>(i);
            for (int32_t const reg : mProgram.tensors[i].extents)
                facts.knownAfter = std::max(facts.knownAfter, mEngine.knownAfter[asSize(reg)]);
        }
    }

    void findSegments()
    {
        int32_t first{0};
        auto const count = static_cast<int32_t>(mProgram.steps.size());
        std::vector<bool> begins(mProgram.steps.size() + 1, false);
        for (PlanControl const& control : mProgram.controls)
            for (int32_t const at : {control.first, control.middle, control.last})
                begins[asSize(at)] = true;
        if (begins.front()) // The first segment runs once, whatever becomes of the others.
            mEngine.segments.push_back({0, 0});
        for (int32_t i = 0; i < count; ++i)
            if (i + 1 < count && (!mProgram.steps[asSize(i)].produces.empty() || begins[asSize(i) + 1]))
            {
                mEngine.segments.push_back({first, i + 1});
                first = i + 1;
            }
        mEngine.segments.push_back({first, count});
        findControls();
    }

    //! The first segment from this step on; segments begin at it.
    size_t segmentAt(int32_t step) const
    {
        auto const found = std::ranges::partition_point(
            mEngine.segments, [&](Segment const& segment) { return segment.last <= step; });
        return static_cast<size_t>(found - mEngine.segments.begin());
    }

    //! Symbols that steps tell, in the order of the steps.
    std::vector<int32_t> toldSymbols() const
    {
        std::vector<int32_t> told;
        for (size_t i = 0; i < mProgram.symbols.size(); ++i)
            if (mProgram.symbols[i].kind == PlanSymbolKind::kData)
                told.push_back(static_cast<int32_t>(i));
        std::ranges::stable_sort(told, {}, [&](int32_t symbol) { return sourceOf(symbol); });
        return told;
    }

    int32_t sourceOf(int32_t symbol) const
    {
        return mProgram.symbols[asSize(symbol)].source;
    }

    void findControls()
    {
        std::vector<int32_t> const next = nextControls(mProgram);
        std::vector<int32_t> const told = toldSymbols();
        for (size_t i = 0; i < mProgram.controls.size(); ++i)
        {
            PlanControl const& control = mProgram.controls[i];
            ControlFacts facts{.begin = segmentAt(control.first),
                .middle = segmentAt(control.middle),
                .end = segmentAt(control.last),
                .middleControl = i + 1,
                .next = asSize(next[i]),
                .symbols = {},
                .parts = {}};
            while (facts.middleControl < facts.next && mProgram.controls[facts.middleControl].first < control.middle)
                ++facts.middleControl;
            auto const source = [&](int32_t symbol) { return sourceOf(symbol); };
            facts.symbols.assign(std::ranges::lower_bound(told, control.first, {}, source),
                std::ranges::lower_bound(told, control.last, {}, source));
            for (PlanPart const& part : control.parts)
            {
                facts.parts.push_back(static_cast<int32_t>(mEngine.parts.size()));
                mEngine.places[asSize(part.tensor)].part = static_cast<int32_t>(mEngine.parts.size());
                mEngine.parts.push_back({&part});
            }
            mEngine.controls.push_back(std::move(facts));
        }
        for (PartFacts& part : mEngine.parts)
            part.outer = partOf(mProgram.tensors[asSize(part.part->tensor)].index);
        findDeciding();
    }

    //! The slice that the tensor lies in; −1: none.
    int32_t partOf(int32_t tensor) const
    {
        for (;;)
        {
            PlanTensor const& stored = mProgram.tensors[asSize(tensor)];
            if (mEngine.places[asSize(tensor)].part >= 0)
                return mEngine.places[asSize(tensor)].part;
            if (stored.kind != PlanTensorKind::kView && stored.kind != PlanTensorKind::kPart)
                return -1;
            tensor = stored.index;
        }
    }

    //! Calls use(register) for each that the register at this position of the order is computed from.
    void forOperands(int32_t reg, auto const& use) const
    {
        if (asSize(reg) < mProgram.symbols.size())
        {
            if (mProgram.symbols[asSize(reg)].kind == PlanSymbolKind::kData)
                use(mProgram.symbols[asSize(reg)].upper);
            return;
        }
        PlanShapeInstruction const& x = mProgram.shapes[asSize(reg) - mProgram.symbols.size()];
        if (isConstant(x.op))
            return;
        use(x.a);
        use(x.b);
        if (x.op == PlanShapeOp::kRealSelect)
            use(static_cast<int32_t>(x.value));
    }

    void findFollowing()
    {
        std::vector<Segment> follows(mEngine.order.size());
        for (size_t i = 0; i < mEngine.order.size(); ++i)
            follows[asSize(mEngine.order[i])] = {static_cast<int32_t>(i), static_cast<int32_t>(i) + 1};
        for (auto reg = mEngine.order.rbegin(); reg != mEngine.order.rend(); ++reg)
            forOperands(*reg, [&](int32_t operand) {
                Segment& from = follows[asSize(operand)];
                from.last = std::max(from.last, follows[asSize(*reg)].last);
            });
        follows.resize(mProgram.symbols.size());
        mEngine.follows = std::move(follows);
    }

    //! What tails are found by: like values there give like steps, whatever else running has told.
    void findTold()
    {
        std::vector<uint8_t> isTold(mEngine.order.size(), 0);
        for (int32_t const reg : mEngine.order)
        {
            bool told =
                asSize(reg) < mProgram.symbols.size() && mProgram.symbols[asSize(reg)].kind == PlanSymbolKind::kData;
            forOperands(reg, [&](int32_t operand) { told = told || isTold[asSize(operand)] != 0; });
            isTold[asSize(reg)] = told ? 1 : 0;
        }
        for (Segment const& segment : mEngine.segments)
        {
            std::vector<int32_t>& registers = mEngine.toldRegisters.emplace_back();
            for (int32_t i = segment.first; i < segment.last; ++i)
                for (auto const* const operands :
                    {&mProgram.steps[asSize(i)].inputs, &mProgram.steps[asSize(i)].outputs})
                    for (int32_t const tensor : *operands)
                        addTold(tensor, isTold, registers);
            std::ranges::sort(registers);
            registers.erase(std::unique(registers.begin(), registers.end()), registers.end());
        }
    }

    //! Those of the extents of the tensor and of what it is a view or slice of.
    void addTold(int32_t tensor, std::vector<uint8_t> const& isTold, std::vector<int32_t>& registers) const
    {
        auto const add = [&](int32_t reg) {
            if (isTold[asSize(reg)] != 0)
                registers.push_back(reg);
        };
        while (tensor >= 0)
        {
            PlanTensor const& stored = mProgram.tensors[asSize(tensor)];
            std::ranges::for_each(stored.extents, add);
            if (int32_t const part = mEngine.places[asSize(tensor)].part; part >= 0)
                add(mEngine.parts[asSize(part)].part->length);
            bool const isWithin = stored.kind == PlanTensorKind::kView || stored.kind == PlanTensorKind::kPart;
            tensor = isWithin ? stored.index : -1;
        }
    }

    void findDeciding()
    {
        mEngine.decidesShapes.assign(mProgram.symbols.size(), 0);
        auto const note = [&](int32_t reg) {
            if (reg >= 0 && asSize(reg) < mProgram.symbols.size())
                mEngine.decidesShapes[asSize(reg)] = 1;
        };
        for (PlanTensor const& tensor : mProgram.tensors)
            std::ranges::for_each(tensor.extents, note);
        for (PlanSymbol const& symbol : mProgram.symbols)
            note(symbol.upper);
        for (PlanShapeInstruction const& x : mProgram.shapes)
            if (!isConstant(x.op))
            {
                note(x.a);
                note(x.b);
                if (x.op == PlanShapeOp::kRealSelect)
                    note(static_cast<int32_t>(x.value));
            }
    }

    void findWriters()
    {
        for (size_t i = 0; i < mProgram.steps.size(); ++i)
            for (int32_t const output : mProgram.steps[i].outputs)
                noteWriter(output, static_cast<int32_t>(i));
    }

    void noteWriter(int32_t output, int32_t step)
    {
        TensorPlace const& where = place(output);
        if (where.kind != PlanTensorKind::kIO)
            return;
        IOFacts& facts = mEngine.io[asSize(where.index)];
        facts.writer = step;
        PlanStep const& writer = mProgram.steps[asSize(step)];
        if (roleOf(writer) == StepRole::kShapeValues && writer.inputs.size() == 1 && writer.inputs[0] >= 0
            && mProgram.tensors[asSize(writer.inputs[0])].kind == PlanTensorKind::kValues)
        {
            facts.valuesTensor = writer.inputs[0];
            facts.hasRealValues = writesReals(writer);
        }
    }

    void takeBlocks()
    {
        for (TensorPlace& where : mEngine.places)
        {
            where.block = mEngine.shared.blockOf[asSize(where.root)];
            where.blockApart = mEngine.apart.blockOf[asSize(where.root)];
        }
        for (size_t i = 0; i < mEngine.io.size(); ++i)
        {
            mEngine.io[i].staging = mEngine.shared.stagingOf[i];
            mEngine.io[i].stagingApart = mEngine.apart.stagingOf[i];
        }
    }

    Slot slotOf(int32_t tensor) const
    {
        Slot slot = wholeSlotOf(tensor);
        if (tensor >= 0 && !mEngine.parts.empty())
            slot.part = partOf(tensor);
        return slot;
    }

    Slot wholeSlotOf(int32_t tensor) const
    {
        if (tensor < 0)
            return {};
        TensorPlace const& where = place(tensor);
        switch (where.kind)
        {
        case PlanTensorKind::kIO: return {Slot::From::kIO, where.index};
        case PlanTensorKind::kWeight:
            return {
                mProgram.tensors[asSize(tensor)].place == Place::kHost ? Slot::From::kHostWeight : Slot::From::kWeight,
                where.index};
        case PlanTensorKind::kActivation: return {Slot::From::kBlock, where.block, where.blockApart};
        default: return {};
        }
    }

    void makeSlots()
    {
        // A plan may name a kernel that tells values where it expects none: such values land in the first, unused ones.
        constexpr size_t kSpare{8};
        mEngine.produced = kSpare;
        for (PlanStep const& step : mProgram.steps)
        {
            bool const isDataDependent = !step.produces.empty();
            mEngine.stepSlots.push_back(
                {mEngine.inputSlots.size(), mEngine.outputSlots.size(), isDataDependent ? mEngine.produced : 0});
            for (int32_t const input : step.inputs)
                mEngine.inputSlots.push_back(slotOf(input));
            for (int32_t const output : step.outputs)
                mEngine.outputSlots.push_back(slotOf(output));
            mEngine.produced += isDataDependent ? std::max(step.produces.size(), kSpare) : 0;
        }
    }

    void findRead()
    {
        for (size_t i = 0; i < mProgram.steps.size(); ++i)
            for (size_t j = 0; j < mProgram.steps[i].inputs.size(); ++j)
            {
                Slot const& slot = mEngine.inputSlots[mEngine.stepSlots[i].firstInput + j];
                if (slot.from != Slot::From::kIO)
                    continue;
                mEngine.io[asSize(slot.index)].isRead = true;
                mEngine.io[asSize(slot.index)].isReadBySteps = true;
                if (slot.index < mEngine.inputs)
                    mEngine.inputsReadUntil = static_cast<int32_t>(i) + 1;
            }
        for (PlanSymbol const& symbol : mProgram.symbols)
            if (symbol.kind == PlanSymbolKind::kInputValue)
                mEngine.io[asSize(symbol.source)].isRead = true;
    }

    void findStreams()
    {
        for (PlanStep const& step : mProgram.steps)
            mEngine.auxStreams = std::max(mEngine.auxStreams, step.stream);
        // Where streams part, inputs have been read when they meet again.
        for (Region const& region : regionsOf(mProgram))
            if (region.isSplit && mEngine.inputsReadUntil > region.first)
                mEngine.inputsReadUntil = std::max(mEngine.inputsReadUntil, region.last);
    }

    void findMoving()
    {
        for (Segment const& segment : mEngine.segments)
        {
            bool moves{false};
            float cost{0.0F};
            for (int32_t i = segment.first; i < segment.last; ++i)
            {
                StepSlots const& slots = mEngine.stepSlots[asSize(i)];
                cost += mProgram.steps[asSize(i)].cost;
                for (size_t j = 0; j < mProgram.steps[asSize(i)].inputs.size(); ++j)
                    moves = moves || mEngine.inputSlots[slots.firstInput + j].part >= 0;
                for (size_t j = 0; j < mProgram.steps[asSize(i)].outputs.size(); ++j)
                    moves = moves || mEngine.outputSlots[slots.firstOutput + j].part >= 0;
            }
            mEngine.hasParts.push_back(moves ? 1 : 0);
            mEngine.costs.push_back(cost);
        }
        mEngine.hasSizesOfData = std::ranges::any_of(
            mProgram.symbols, [](PlanSymbol const& symbol) { return symbol.kind != PlanSymbolKind::kInputExtent; });
        // A later round may read an input again, and a branch may not run.
        for (PlanControl const& control : mProgram.controls)
            if (mEngine.inputsReadUntil > control.first)
                mEngine.inputsReadUntil = std::max(mEngine.inputsReadUntil, control.last);
    }

    //! Host code of a plan enters the process only where the user has said so. Other code is for a device's driver.
    Result<Done> checkCode()
    {
        std::string names;
        for (PlanCode const& code : mPlan.code)
            if (isForHost(code.form))
                names += (names.empty() ? "" : ", ") + code.name;
        if (names.empty() || mEngine.options.allowsHostCode)
            return Done{};
        return badConfig("the plan carries code that would run in this process: {}; allow it with "
                         "IRuntime::setEngineHostCodeAllowed(true) (Python: runtime.engine_host_code_allowed = True) "
                         "if you trust where the plan comes from",
            names);
    }

    TensorPlace const& place(int32_t tensor) const
    {
        return mEngine.places[asSize(tensor)];
    }

    EngineState& mEngine;
    Plan const& mPlan;
    Program const& mProgram;
};

constexpr int32_t kMaxNestedAttach{8};
thread_local int32_t gAttaching{0}; //!< Copies that this thread is making, within one another.

struct Attaching
{
    Attaching() noexcept
    {
        ++gAttaching;
    }
    ~Attaching()
    {
        --gAttaching;
    }
    Attaching(Attaching const&) = delete;
    Attaching& operator=(Attaching const&) = delete;
};
} // namespace

Result<Done> checkPlugins(Plan const& plan, PluginSource const* plugins)
{
    std::string missing;
    for (PlanPlugin const& plugin : plan.plugins)
    {
        PluginName const name{plugin.name, plugin.version, plugin.nameSpace, plugin.library};
        std::string const what = plugins == nullptr
            ? fmt::format("there is no registry to look for plugin '{}' in", plugin.name)
            : plugins->whatIsMissing(name);
        if (!what.empty())
            missing += (missing.empty() ? "" : "; ") + what;
    }
    return missing.empty() ? Result<Done>{Done{}} : badConfig("the plan needs plugins: {}", missing);
}

PlanProfileInput const* EngineState::profileInput(int32_t profile, int32_t input) const noexcept
{
    return boundsOf(plan->profiles[asSize(profile)], input);
}

Result<std::unique_ptr<Attached>> EngineState::attach(size_t step, ContextResources const& resources) const
{
    if (gAttaching == kMaxNestedAttach)
        return badConfig(
            "{} contexts are being made within one another: a plugin makes one whenever it is attached to one",
            kMaxNestedAttach);
    std::scoped_lock const lock{attachMutex};
    Attaching const nested;
    return loaded()->kernels[step]->attach(resources);
}

Result<std::unique_ptr<EngineState>> loadEngine(std::shared_ptr<Plan const> plan, EngineOptions options)
{
    auto engine = std::make_unique<EngineState>(std::move(options));
    engine->plan = std::move(plan);
    Device* const device = engine->options.device;
    if (device == nullptr)
        return badArgument("an engine needs a device");
    if (engine->plan->blob == nullptr)
        TENON_TRY(checkPlan(*engine->plan));
    engine->program = programFor(*engine->plan, device->name());
    if (engine->program == nullptr)
        return badConfig("the plan holds no program for device '{}'", device->name());
    engine->threads = engine->options.threads > 0 ? engine->options.threads : device->hostThreads();
    engine->bounds.resize(engine->plan->profiles.size());
    TENON_TRY(Loader{*engine}.load());
    return engine;
}

} // namespace tenon
