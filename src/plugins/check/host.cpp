// Host: shapes, combinations, and objects that are ready to run.
#include "plugins/check/host.h"

#include "plugins/formats.h"

#include <algorithm>
#include <cstdlib>

namespace tenon::plugins::check
{

using nvinfer1::TensorFormat;

namespace
{
constexpr std::array<DType, 6> kOffered{
    DType::kFLOAT, DType::kHALF, DType::kBF16, DType::kINT8, DType::kINT32, DType::kINT64};
} // namespace

std::string portsText(Ports const& ports)
{
    std::string text;
    for (size_t i = 0; i < ports.all.size(); ++i)
    {
        nvinfer1::PluginTensorDesc const& desc = ports.all[i].desc;
        std::string extents;
        for (int32_t k = 0; k < desc.dims.nbDims; ++k)
            extents += fmt::format("{}{}", k == 0 ? "" : "x", desc.dims.d[k]);
        text += fmt::format("{}{}[{}] {}",
            i == static_cast<size_t>(ports.inputs) ? " -> "
                : i == 0                           ? ""
                                                   : ", ",
            isValid(desc.type) ? tenon::nameOf(desc.type) : "?", extents, nameOf(desc.format));
    }
    return text;
}

// ---- memory of contexts

void* CountingAllocator::allocate(uint64_t size, uint64_t alignment, nvinfer1::AllocatorFlags) noexcept
{
    if (size == 0)
        return nullptr; // O11
    uint64_t const step = std::max<uint64_t>(alignment, 64);
    void* const memory = std::aligned_alloc(step, (size + step - 1) / step * step);
    std::scoped_lock const lock{mMutex};
    if (memory != nullptr)
        mBlocks.insert(memory);
    return memory;
}

bool CountingAllocator::deallocate(void* memory) noexcept
{
    std::scoped_lock const lock{mMutex};
    if (memory == nullptr)
        return true;
    if (mBlocks.erase(memory) == 0)
        return false; // Not one of these, or given back before.
    std::free(memory);
    return true;
}

size_t CountingAllocator::outstanding() const noexcept
{
    std::scoped_lock const lock{mMutex};
    return mBlocks.size();
}

CountingAllocator::~CountingAllocator()
{
    for (void* const block : mBlocks)
        std::free(block);
}

// ---- shapes

std::vector<int64_t> Form::valuesAt(Point point) const
{
    std::vector<int64_t> values;
    for (auto const& symbol : symbols)
        values.push_back(symbol[static_cast<size_t>(point)]);
    return withUppers(std::move(values));
}

std::vector<int64_t> Form::withUppers(std::vector<int64_t> values) const
{
    for (ShapeExpr const& upper : uppers)
        values.push_back(upper.evaluate(values));
    return values;
}

Ports Form::buildPorts() const
{
    std::array<std::vector<int64_t>, 3> const at{valuesAt(Point::kMin), valuesAt(Point::kOpt), valuesAt(Point::kMax)};
    Ports ports;
    ports.inputs = static_cast<int32_t>(inputs.size());
    for (auto const* list : {&inputs, &outputs})
        for (Shape const& shape : *list)
            ports.all.push_back({{dimsOf(shape), DType::kFLOAT, TensorFormat::kLINEAR, -1.0F}, dimsAt(shape, at[0]),
                dimsAt(shape, at[2]), dimsAt(shape, at[1])});
    return ports;
}

Ports Form::runPorts(std::vector<int64_t> const& values) const
{
    Ports ports = buildPorts();
    for (size_t i = 0; i < ports.all.size(); ++i)
    {
        Shape const& shape = i < inputs.size() ? inputs[i] : outputs[i - inputs.size()];
        Port& port = ports.all[i];
        port.desc.dims = dimsAt(shape, values);
        port.min = port.opt = port.max = port.desc.dims;
        for (size_t axis = 0; axis < shape.size(); ++axis)
        {
            std::vector<int32_t> const used = shape[axis].symbols();
            if (!used.empty() && used.back() >= static_cast<int32_t>(symbols.size()))
                port.desc.dims.d[axis] = -1; // Only running tells (L12).
        }
    }
    return ports;
}

Result<PluginPtr> Host::make()
{
    mWatch.enter(mSubject.maker, mGeneration);
    auto made = mSubject.make(mWatch);
    mWatch.enter(nullptr);
    if (!made)
    {
        bool const lacks = made.error().message.find("capability") != std::string::npos;
        if (lacks)
            mWatch.find(flaw::kCapabilities, Generation::kV3, "getCapabilityInterface", made.error().message);
        else
            mWatch.find(flaw::kCreates, mGeneration, mSubject.maker, made.error().message);
        mWatch.stop();
        Error error = std::move(made).error();
        return Error{error.code, "made no plugin: " + error.message};
    }
    mGeneration = (*made)->identity().generation;
    if ((*made)->isAhead())
    {
        mWatch.find(flaw::kCompiled, mGeneration, mSubject.maker,
            "the plugin is a kernel that is compiled into plans: it has no object that could run");
        return badConfig("the plugin is compiled ahead of time");
    }
    findBody(**made);
    return watched(*std::move(made), mWatch, mBody);
}

//! Under the namespace that it has, or that of its registration, which V2 objects are told later.
void Host::findBody(Plugin& plugin)
{
    mBody = findCpuBody(plugin);
    if (mBody == nullptr && mGeneration != Generation::kV3)
    {
        Identity identity = plugin.identity();
        identity.nameSpace = registeredUnder(mSubject);
        mBody = findCpuBody(identity, plugin);
    }
    if (mBody != nullptr)
        mWatch.note("on the CPU enqueue() is not called: the plugin's CPU body runs in its place");
}

//! Those of the first extent that is dynamic in some input, else of the first input's.
std::array<int64_t, 3> Host::batchBounds() const
{
    std::optional<std::array<int64_t, 3>> first;
    for (InputSpec const& spec : mOptions.inputs)
    {
        if (spec.isValues || spec.opt.nbDims == 0)
            continue;
        std::array<int64_t, 3> const bounds{spec.min.d[0], spec.opt.d[0], spec.max.d[0]};
        if (bounds[0] != bounds[2])
            return bounds;
        first = first.value_or(bounds);
    }
    return first.value_or(std::array<int64_t, 3>{-1, -1, -1});
}

Result<Form> Host::form(Plugin& plugin, std::optional<int64_t> batch)
{
    Form form;
    std::map<std::array<int64_t, 4>, int32_t> known; // Extents with equal bounds on one axis are one symbol.
    for (InputSpec const& spec : mOptions.inputs)
    {
        Shape shape;
        for (int64_t const value : spec.values)
            shape.emplace_back(value);
        if (spec.isValues)
        {
            form.shapeInputs.push_back(std::move(shape));
            continue;
        }
        for (int32_t axis = 0; axis < spec.opt.nbDims; ++axis)
        {
            std::array<int64_t, 3> const bounds{spec.min.d[axis], spec.opt.d[axis], spec.max.d[axis]};
            if (axis == 0 && batch && bounds == batchBounds())
                shape.emplace_back(*batch);
            else if (bounds[0] == bounds[2])
                shape.emplace_back(bounds[0]);
            else
            {
                auto const [at, isNew] =
                    known.try_emplace({axis, bounds[0], bounds[1], bounds[2]}, static_cast<int32_t>(known.size()));
                if (isNew)
                    form.symbols.push_back(bounds);
                shape.push_back(ShapeExpr::symbol(at->second));
            }
        }
        form.inputs.push_back(std::move(shape));
    }
    mWatch.enter("canBroadcastInputAcrossBatch", mGeneration);
    std::vector<size_t> const copied = unshareable(plugin, form.inputs);
    mWatch.enter(nullptr);
    for (size_t const i : copied) // Engines copy these for each sample (J19).
        form.inputs[i].front() = std::ranges::find_if(form.inputs, [](Shape const& shape) {
            return !shape.empty() && shape.front() != ShapeExpr{1};
        })->front();
    TENON_TRY(ask(plugin, form));
    return form;
}

Result<Done> Host::ask(Plugin& plugin, Form& form)
{
    auto const known = static_cast<int32_t>(form.symbols.size());
    form.uppers.clear();
    OutputShapes found =
        TENON_TRY(plugin.outputShapes(form.inputs, form.shapeInputs, [&](int32_t, ShapeExpr const& upper) {
            form.uppers.push_back(upper);
            return ShapeExpr::symbol(known + static_cast<int32_t>(form.uppers.size()) - 1);
        }));
    form.outputs = std::move(found.shapes);
    form.sizeOutputs = std::move(found.sizeOutputs);
    return Done{};
}

// ---- combinations

std::vector<Combination> Host::inputPrefixes(Plugin& plugin, Ports ports, size_t most)
{
    for (Port& port : ports.all)
        poison(port);
    std::vector<Combination> found{{}};
    for (size_t position = 0; position < static_cast<size_t>(ports.inputs); ++position)
    {
        std::vector<Combination> longer;
        for (Combination const& prefix : found)
        {
            for (size_t i = 0; i < prefix.size(); ++i)
                put(ports.all[i], prefix[i]);
            std::span<DType const> const types =
                mOptions.types.empty() ? std::span<DType const>{kOffered} : std::span<DType const>{mOptions.types};
            for (DType const type : types)
                for (TensorFormat const format : formatsOf(mGeneration, type, ports.all[position].desc.dims.nbDims))
                {
                    put(ports.all[position], {type, format});
                    if (longer.size() < most && plugin.accepts(static_cast<int32_t>(position), ports))
                        (longer.emplace_back(prefix)).push_back({type, format});
                }
            poison(ports.all[position]);
        }
        found = std::move(longer);
    }
    return found;
}

Result<std::vector<PortOffer>> Host::offers(Plugin& plugin, Form const& form, Combination const& inputs)
{
    std::vector<PortOffer> offers;
    std::vector<DType> types;
    for (PortChoice const& choice : inputs)
    {
        offers.push_back({fmt::format("input {}", offers.size()), {choice}});
        types.push_back(choice.type);
    }
    std::vector<int32_t> ranks;
    for (Shape const& shape : form.inputs)
        ranks.push_back(static_cast<int32_t>(shape.size()));
    plugin.inputRanks(ranks);
    std::vector<DType> const answered = TENON_TRY(plugin.outputTypes(types));
    for (size_t i = 0; i < form.outputs.size() && i < answered.size(); ++i)
    {
        PortOffer offer{fmt::format("output {}", i), {}};
        bool const isSize = std::ranges::count(form.sizeOutputs, static_cast<int32_t>(i)) != 0;
        if (isSize && ((answered[i] != DType::kINT32 && answered[i] != DType::kINT64) || !form.outputs[i].empty()))
            find(flaw::kSizeTensor, Ask::kTypes,
                fmt::format("size tensor {} is {} of rank {}", i, tenon::nameOf(answered[i]), form.outputs[i].size()));
        for (TensorFormat const format :
            formatsOf(mGeneration, answered[i], static_cast<int32_t>(form.outputs[i].size())))
            offer.choices.push_back({answered[i], format});
        offers.push_back(std::move(offer));
    }
    return offers;
}

Result<std::vector<Combination>> Host::combinations(Plugin& plugin, Form const& form)
{
    int32_t const limit = plugin.combinationLimit();
    if (limit < 1)
    {
        find(flaw::kLimit, Ask::kLimit, fmt::format("it answers {}", limit));
        return badConfig("the combination limit is {}", limit);
    }
    Ports const ports = form.buildPorts();
    auto const most = static_cast<size_t>(limit);
    std::vector<Combination> found;
    std::string refusal;
    for (Combination const& inputs : inputPrefixes(plugin, ports, most))
    {
        if (found.size() >= most)
            break;
        std::vector<PortOffer> const offered = TENON_TRY(offers(plugin, form, inputs));
        auto agreed = negotiate(plugin, ports, offered, most - found.size());
        if (agreed)
            std::ranges::move(*agreed, std::back_inserter(found));
        else
            refusal = agreed.error().message;
    }
    mWatch.countCombinations(static_cast<int64_t>(found.size()));
    if (!found.empty())
        return found;
    if (refusal.empty())
        refusal = "no type and format on offer is accepted at input 0 and those behind it";
    find(flaw::kCombination, Ask::kAccepts, refusal);
    return badConfig("{}", refusal);
}

// ---- objects

Result<Ready> Host::ready(Form const& form, Combination const& combination)
{
    Ready ready;
    ready.ports = withCombination(form.buildPorts(), combination);
    ready.plugin = TENON_TRY(make());
    TENON_TRY(ready.plugin->configure(ready.ports));
    ready.tactics = TENON_TRY(ready.plugin->tactics());
    bool const sizesLate = isBatchless(mGeneration); // J18
    if (sizesLate)
        TENON_TRY(ready.plugin->initialize());
    ready.workspace = TENON_TRY(ready.plugin->workspace(ready.ports));
    if (ready.workspace > size_t{1} << 36)
    {
        find(flaw::kWorkspaceHuge, Ask::kWorkspace, fmt::format("it asks for {} bytes", ready.workspace));
        return badConfig("the workspace has {} bytes", ready.workspace);
    }
    if (!sizesLate)
        TENON_TRY(ready.plugin->initialize());
    auto aliases = aliasesOf(*ready.plugin, ready.ports);
    if (!aliases)
        find(flaw::kAlias, Ask::kAlias, aliases.error().message);
    ready.aliases = TENON_TRY(std::move(aliases));
    return ready;
}

Result<PluginPtr> Host::attached(Plugin& plugin, int32_t tactic)
{
    PluginPtr copy = TENON_TRY(plugin.attach({&mAllocator, nullptr}));
    TENON_TRY(copy->setTactic(tactic));
    return copy;
}

} // namespace tenon::plugins::check
