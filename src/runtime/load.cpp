// loadEngine: tables of a program, kernels and weights.
#include "runtime/engine_state.h"

#include "plan/check.h"

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
        findLives();
        makeBlocks(mEngine.shared, true);
        makeBlocks(mEngine.apart, false);
        makeSlots();
        findRead();
        TENON_TRY(checkPlugins());
        TENON_TRY(checkCode());
        TENON_TRY(loadWeights());
        return loadKernels();
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
        for (int32_t i = 0; i < count; ++i)
            if (!mProgram.steps[asSize(i)].produces.empty() && i + 1 < count)
            {
                mEngine.segments.push_back({first, i + 1});
                first = i + 1;
            }
        mEngine.segments.push_back({first, count});
    }

    //! First writer and last reader of each root, and what shares memory with what.
    void findLives()
    {
        mLives.assign(mProgram.tensors.size(), {0, -1, -1});
        for (size_t i = 0; i < mProgram.steps.size(); ++i)
        {
            auto const step = static_cast<int32_t>(i);
            for (int32_t const input : mProgram.steps[i].inputs)
                if (input >= 0)
                    mLives[asSize(place(input).root)].last = step;
            for (int32_t const output : mProgram.steps[i].outputs)
            {
                mLives[asSize(place(output).root)] = {0, step, step};
                noteWriter(output, step);
            }
        }
    }

    void noteWriter(int32_t output, int32_t step)
    {
        TensorPlace const& where = place(output);
        if (where.kind != PlanTensorKind::kIO)
            return;
        IOFacts& facts = mEngine.io[asSize(where.index)];
        facts.writer = step;
        PlanStep const& writer = mProgram.steps[asSize(step)];
        if (writer.kernel == "shape_values" && writer.inputs.size() == 1 && writer.inputs[0] >= 0
            && mProgram.tensors[asSize(writer.inputs[0])].kind == PlanTensorKind::kValues)
        {
            facts.valuesTensor = writer.inputs[0];
            facts.hasRealValues = !writer.args.empty();
        }
    }

    //! A block per activation; those that a step may run in place on share one. Chains of such steps make one block.
    void makeBlocks(BlockPlan& plan, bool share)
    {
        std::vector<int32_t> blockOf(mProgram.tensors.size(), -1);
        for (PlanStep const& step : mProgram.steps)
            for (size_t i = 0; i < step.outputs.size(); ++i)
            {
                TensorPlace const& where = place(step.outputs[i]);
                if (where.kind != PlanTensorKind::kActivation)
                    continue;
                ArenaBlock const& life = mLives[asSize(where.root)];
                int32_t block = share ? inheritedBlock(step, static_cast<int32_t>(i), blockOf) : -1;
                if (block < 0)
                {
                    block = static_cast<int32_t>(plan.blocks.size());
                    plan.blocks.push_back(life);
                    plan.members.emplace_back();
                }
                plan.blocks[asSize(block)].last = std::max(plan.blocks[asSize(block)].last, life.last);
                plan.members[asSize(block)].push_back(where.root);
                blockOf[asSize(where.root)] = block;
            }
        for (TensorPlace& where : mEngine.places)
            (share ? where.block : where.blockApart) = blockOf[asSize(where.root)];
        addStaging(plan, share);
    }

    int32_t inheritedBlock(PlanStep const& step, int32_t output, std::vector<int32_t> const& blockOf) const
    {
        for (auto const& [mine, input] : step.inPlace)
            if (mine == output)
                return blockOf[asSize(place(step.inputs[asSize(input)]).root)]; // −1 for I/O and weights.
        return -1;
    }

    void addStaging(BlockPlan& plan, bool share)
    {
        for (IOFacts& facts : mEngine.io)
        {
            if (facts.writer < 0 || facts.knownAfter < facts.writer)
                continue;
            (share ? facts.staging : facts.stagingApart) = static_cast<int32_t>(plan.blocks.size());
            plan.blocks.push_back({0, facts.writer, facts.writer});
            plan.members.push_back({facts.tensor});
        }
    }

    Slot slotOf(int32_t tensor) const
    {
        if (tensor < 0)
            return {};
        TensorPlace const& where = place(tensor);
        switch (where.kind)
        {
        case PlanTensorKind::kIO: return {Slot::From::kIO, where.index};
        case PlanTensorKind::kWeight: return {Slot::From::kWeight, where.index};
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
            bool const tells = !step.produces.empty();
            mEngine.stepSlots.push_back(
                {mEngine.inputSlots.size(), mEngine.outputSlots.size(), tells ? mEngine.produced : 0});
            for (int32_t const input : step.inputs)
                mEngine.inputSlots.push_back(slotOf(input));
            for (int32_t const output : step.outputs)
                mEngine.outputSlots.push_back(slotOf(output));
            mEngine.produced += tells ? std::max(step.produces.size(), kSpare) : 0;
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

    Result<Done> loadWeights()
    {
        Device& device = mEngine.device();
        for (PlanWeight const& weight : mPlan.weights)
        {
            if (device.usesHostMemory())
            {
                mEngine.weights.push_back(weight.data);
                continue;
            }
            mEngine.uploaded.push_back(TENON_TRY(DeviceMemory::allocate({&device, mEngine.options.allocator},
                static_cast<int64_t>(std::max<uint64_t>(weight.bytes, 1)), "weight '" + weight.name + "'")));
            TENON_TRY(device.copyFromHost(mEngine.uploaded.back().data(), weight.data, weight.bytes, kApartStream));
            mEngine.weights.push_back(mEngine.uploaded.back().data());
        }
        return Done{};
    }

    //! All that are missing are named at once.
    Result<Done> checkPlugins()
    {
        std::string missing;
        for (PlanPlugin const& plugin : mPlan.plugins)
        {
            PluginName const name{plugin.name, plugin.version, plugin.nameSpace, plugin.library};
            std::string const what = mEngine.options.plugins == nullptr
                ? fmt::format("there is no registry to look for plugin '{}' in", plugin.name)
                : mEngine.options.plugins->whatIsMissing(name);
            if (!what.empty())
                missing += (missing.empty() ? "" : "; ") + what;
        }
        return missing.empty() ? Result<Done>{Done{}} : badConfig("the plan needs plugins: {}", missing);
    }

    //! Code of a plan enters the process only where the user has said so.
    Result<Done> checkCode()
    {
        std::string names;
        for (PlanCode const& code : mPlan.code)
        {
            mCode.push_back({code.name, {static_cast<uint8_t const*>(code.data), code.bytes}});
            names += (names.empty() ? "" : ", ") + code.name;
        }
        if (names.empty() || mEngine.options.allowsHostCode)
            return Done{};
        return badConfig("the plan carries code that would run in this process: {}; allow it with "
                         "IRuntime::setEngineHostCodeAllowed(true) (Python: runtime.engine_host_code_allowed = True) "
                         "if you trust where the plan comes from",
            names);
    }

    Result<Done> loadKernels()
    {
        // With symbols anywhere, what is known now is constant.
        std::vector<Span> const any(mProgram.symbols.size(), Span{INT64_MIN, INT64_MAX});
        std::vector<uint8_t> const given(mProgram.symbols.size(), 1);
        std::vector<Span> const registers = evaluateAll(mEngine, any, DataSymbols::kAnywhere, given);
        for (PlanStep const& step : mProgram.steps)
        {
            KernelSource source{step.kernel, step.args, {}, step.outputs.size(), step.name, step.produces.size()};
            if (step.graphNode >= 0)
                source.fields = mPlan.graph.nodes[asSize(step.graphNode)].fields;
            source.plugins = mEngine.options.plugins;
            source.code = mCode;
            for (int32_t const input : step.inputs)
                source.weights.push_back(weightArg(input, registers));
            auto kernel = mEngine.device().load(source);
            if (!kernel)
                return std::move(kernel).error().in("[layer '" + step.name + "']");
            mEngine.kernels.push_back(*std::move(kernel));
        }
        return Done{};
    }

    //! Empty for operands that are not constants, and for views of constants whose extents are not constant.
    WeightArg weightArg(int32_t tensor, std::vector<Span> const& registers) const
    {
        if (tensor < 0 || place(tensor).kind != PlanTensorKind::kWeight)
            return {};
        PlanWeight const& weight = mPlan.weights[asSize(place(tensor).index)];
        PlanTensor const& view = mProgram.tensors[asSize(tensor)];
        WeightArg arg{weight.data, weight.bytes, view.dtype, {}, weight.packing};
        for (int32_t const reg : view.extents)
        {
            if (!registers[asSize(reg)].isKnown())
                return {};
            arg.extents.push_back(registers[asSize(reg)].lo);
        }
        int64_t const bytes = bytesOf(arg.dtype, view.layout, arg.extents);
        bool const fits = bytes >= 0 && static_cast<uint64_t>(bytes) <= weight.bytes;
        bool const same = arg.extents == weight.extents;
        return (weight.packing.empty() ? fits : same) ? arg : WeightArg{};
    }

    TensorPlace const& place(int32_t tensor) const
    {
        return mEngine.places[asSize(tensor)];
    }

    EngineState& mEngine;
    Plan const& mPlan;
    Program const& mProgram;
    std::vector<ArenaBlock> mLives; //!< By root.
    std::vector<CodeArg> mCode;
};
} // namespace

PlanProfileInput const* EngineState::profileInput(int32_t profile, int32_t input) const noexcept
{
    for (PlanProfileInput const& bounds : plan->profiles[asSize(profile)].inputs)
        if (bounds.io == input)
            return &bounds;
    return nullptr;
}

Result<std::unique_ptr<Attached>> EngineState::attach(size_t step, ContextResources const& resources) const
{
    std::scoped_lock const lock{attachMutex};
    return kernels[step]->attach(resources);
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
    for (Program const& program : engine->plan->programs)
        if (program.device == device->name())
            engine->program = &program;
    if (engine->program == nullptr)
        return badConfig("the plan holds no program for device '{}'", device->name());
    engine->threads = engine->options.threads > 0 ? engine->options.threads : device->hostThreads();
    engine->bounds.resize(engine->plan->profiles.size());
    TENON_TRY(Loader{*engine}.load());
    return engine;
}

} // namespace tenon
