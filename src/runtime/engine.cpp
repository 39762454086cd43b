// Engine: creation and queries.
#include "runtime/engine.h"

#include "base/check.h"
#include "runtime/engine_state.h"
#include "runtime/input_shapes.h"

#include <algorithm>

namespace tenon
{

namespace
{
int64_t pick(Engine::Select select, int64_t min, int64_t opt, int64_t max)
{
    return select == Engine::Select::kMIN ? min : select == Engine::Select::kOPT ? opt : max;
}

Result<Done> checkSelect(Engine::Select select)
{
    if (select != Engine::Select::kMIN && select != Engine::Select::kOPT && select != Engine::Select::kMAX)
        return badArgument("selector {} does not exist", static_cast<int32_t>(select));
    return Done{};
}

//! As a plan has them: those that are lacking have no data.
std::vector<PlanWeight> weightsOf(LoadedProgram const& loaded)
{
    std::vector<PlanWeight> weights = loaded.weights;
    for (int64_t const index : loaded.lacking)
    {
        weights[static_cast<size_t>(index)].data = nullptr;
        weights[static_cast<size_t>(index)].owner = nullptr;
    }
    return weights;
}
} // namespace

Engine::Engine(std::unique_ptr<EngineState> state)
    : mState{std::move(state)}
{
}

Engine::~Engine() = default;

Result<std::shared_ptr<Engine>> Engine::create(std::shared_ptr<Plan const> plan, EngineOptions options)
{
    auto state = TENON_TRY(loadEngine(std::move(plan), std::move(options)));
    return std::shared_ptr<Engine>{new Engine{std::move(state)}};
}

Plan const& Engine::plan() const noexcept
{
    return *mState->plan;
}

std::shared_ptr<Plan const> const& Engine::sharedPlan() const noexcept
{
    return mState->plan;
}

Program const& Engine::program() const noexcept
{
    return *mState->program;
}

Device& Engine::device() const noexcept
{
    return mState->device();
}

Log& Engine::log() noexcept
{
    return mState->options.log;
}

Log const& Engine::log() const noexcept
{
    return mState->options.log;
}

nvinfer1::IGpuAllocator* Engine::allocator() const noexcept
{
    return mState->options.allocator;
}

PluginSource const* Engine::plugins() const noexcept
{
    return mState->options.plugins;
}

int32_t Engine::threads() const noexcept
{
    return mState->threads;
}

std::string const& Engine::name() const noexcept
{
    return mState->plan->networkName;
}

int32_t Engine::layerCount() const noexcept
{
    return static_cast<int32_t>(mState->program->steps.size());
}

int32_t Engine::auxStreams() const noexcept
{
    return mState->auxStreams;
}

int32_t Engine::ioCount() const noexcept
{
    return static_cast<int32_t>(mState->plan->io.size());
}

int32_t Engine::inputCount() const noexcept
{
    return mState->inputs;
}

int32_t Engine::findIO(char const* name) const noexcept
{
    if (name == nullptr)
        return -1;
    auto const found = mState->ioByName.find(name);
    return found == mState->ioByName.end() ? -1 : found->second;
}

PlanIO const& Engine::io(int32_t index) const
{
    return mState->plan->io.at(static_cast<size_t>(index));
}

Result<int32_t> Engine::ioOf(char const* name) const
{
    int32_t const index = findIO(name);
    if (index < 0)
        return badArgument("'{}' is not an input or output of the engine", name == nullptr ? "(null)" : name);
    return index;
}

Result<Engine::Dims> Engine::shape(char const* name) const
{
    int32_t const index = TENON_TRY(ioOf(name));
    Dims dims = io(index).dims;
    if (std::all_of(dims.d, dims.d + dims.nbDims, [](int64_t extent) { return extent >= 0; }))
        return dims;
    InputShapes shapes{*mState};
    std::vector<void*> const noValues(static_cast<size_t>(inputCount()));
    dims = shapes.shapeOf(index, shapes.registersFor(shapes.symbolsFor(noValues)));
    for (int32_t profile = 1; profile < profileCount(); ++profile)
    {
        shapes.select(profile);
        Dims const other = shapes.shapeOf(index, shapes.registersFor(shapes.symbolsFor(noValues)));
        for (int32_t i = 0; i < dims.nbDims; ++i)
            dims.d[i] = dims.d[i] == other.d[i] ? dims.d[i] : -1;
    }
    return dims;
}

Result<bool> Engine::isShapeIO(char const* name) const
{
    return io(TENON_TRY(ioOf(name))).isShape;
}

bool Engine::isRead(int32_t io) const noexcept
{
    return io >= 0 && io < ioCount() && mState->io[static_cast<size_t>(io)].isRead;
}

bool Engine::isReadBySteps(int32_t io) const noexcept
{
    return io >= 0 && io < ioCount() && mState->io[static_cast<size_t>(io)].isReadBySteps;
}

int32_t Engine::profileCount() const noexcept
{
    return static_cast<int32_t>(mState->plan->profiles.size());
}

Result<Done> Engine::checkProfile(int32_t profile) const
{
    if (profile < 0 || profile >= profileCount())
        return badArgument("profile {} does not exist: the engine has {}", profile, profileCount());
    return Done{};
}

Result<Engine::Dims> Engine::profileShape(char const* name, int32_t profile, Select select) const
{
    int32_t const index = TENON_TRY(ioOf(name));
    if (!io(index).isInput)
        return badArgument("'{}' is an output; profiles have bounds for inputs", name);
    TENON_TRY(checkProfile(profile));
    TENON_TRY(checkSelect(select));
    Dims dims = io(index).dims;
    PlanProfileInput const* const bounds = mState->profileInput(profile, index);
    for (int32_t i = 0; bounds != nullptr && i < dims.nbDims; ++i)
        dims.d[i] = pick(select, bounds->min.d[i], bounds->opt.d[i], bounds->max.d[i]);
    return dims;
}

Result<std::span<int64_t const>> Engine::profileValues(char const* name, int32_t profile, Select select) const
{
    int32_t const index = TENON_TRY(ioOf(name));
    if (!io(index).isInput || !io(index).isShape)
        return badArgument("'{}' is not a shape-tensor input", name);
    TENON_TRY(checkProfile(profile));
    PlanProfileInput const* const bounds = mState->profileInput(profile, index);
    if (bounds == nullptr)
        return badArgument("profile {} has no values for '{}'", profile, name);
    return std::span<int64_t const>{select == Select::kMIN ? bounds->minValues
            : select == Select::kOPT                       ? bounds->optValues
                                                           : bounds->maxValues};
}

bool Engine::hasNarrowValues(int32_t io, int32_t profile) const noexcept
{
    PlanProfileInput const* const bounds = mState->profileInput(profile, io);
    return bounds != nullptr && bounds->isNarrow;
}

Result<int64_t> Engine::deviceMemorySize(int32_t profile) const
{
    TENON_TRY(checkProfile(profile));
    return TENON_TRY(boundOf(*mState, profile))->layout.bytes;
}

Result<int64_t> Engine::deviceMemorySize() const
{
    int64_t most{0};
    for (int32_t i = 0; i < profileCount(); ++i)
        most = std::max(most, TENON_TRY(deviceMemorySize(i)));
    return most;
}

Result<std::unique_ptr<Plan>> Engine::changedPlan() const
{
    std::scoped_lock const lock{mState->attachMutex}; // Kernels hold the user's objects: one thread at a time.
    std::unique_ptr<Plan> changed;
    std::shared_ptr<LoadedProgram const> const loaded = mState->loaded();
    if (loaded->generation > 0)
    {
        changed = std::make_unique<Plan>(plan());
        changed->weights = weightsOf(*loaded);
    }
    for (size_t i = 0; i < loaded->kernels.size(); ++i)
    {
        PlanStep const& step = program().steps[i];
        auto fields = loaded->kernels[i]->storedFields();
        if (!fields)
            return std::move(fields).error().in("[layer '" + step.name + "']");
        if (!fields->has_value() || step.graphNode < 0)
            continue;
        auto const node = static_cast<size_t>(step.graphNode);
        if (plan().graph.nodes[node].fields == **fields)
            continue;
        if (changed == nullptr)
            changed = std::make_unique<Plan>(plan());
        changed->graph.nodes[node].fields = std::move(**fields);
    }
    return changed;
}

Result<Done> Engine::replaceWeights(std::vector<PlanWeight> weights)
{
    std::scoped_lock const lock{mState->refitMutex};
    TENON_ENSURE(weights.size() == plan().weights.size(), "a refit gives another number of weights");
    std::shared_ptr<LoadedProgram const> const before = mState->loaded();
    mState->setLoaded(TENON_TRY(loadProgram(*mState, std::move(weights), before.get())));
    return Done{};
}

std::vector<PlanWeight> Engine::weights() const
{
    return weightsOf(*mState->loaded());
}

int64_t Engine::weightBytes() const noexcept
{
    uint64_t bytes{0};
    for (PlanWeight const& weight : mState->plan->weights)
        bytes += weight.bytes;
    return static_cast<int64_t>(bytes);
}

WeightBudget const* Engine::weightBudget() const noexcept
{
    return mState->weightBudget.get();
}

Result<Done> Engine::setWeightBudget(int64_t bytes)
{
    WeightBudget* const budget = mState->weightBudget.get();
    if (budget == nullptr)
        return errorOf(ErrorCode::kINVALID_STATE, "the weights of engine '{}' all stay in memory{}", name(),
            plan().streamsWeights ? fmt::format(": device '{}' streams none", device().name())
                                  : ": build it with BuilderFlag::kWEIGHT_STREAMING");
    if (bytes < 0)
        return badArgument("a budget of {} bytes", bytes);
    budget->set(bytes);
    std::shared_ptr<LoadedProgram const> const loaded = mState->loaded();
    for (size_t i = 0; i < loaded->pages.size(); ++i)
        if (loaded->pages[i] != nullptr && !budget->stays(i))
            loaded->pages[i]->drop(loaded->weights[i].data, loaded->weights[i].bytes);
    return Done{};
}

size_t Engine::preparedRuns() const noexcept
{
    return mState->runs.size();
}

} // namespace tenon
