// Kernel "compiled_plugin": a custom layer whose code the plan carries, on a device whose memory is the host's.
#include "backends/ref/kernels.h"
#include "layers/plugin.h"
#include "plugins/formats.h"
#include "plugins/kernel_code.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace tenon::ref
{

namespace
{
using plugins::KernelCode;

constexpr size_t kMostInputs{32};
constexpr size_t kLaunchNumbers{7};

//! What the steps of all shapes share.
struct Loaded
{
    CustomLayer fields;
    std::shared_ptr<KernelCode const> code;
    tenon_kernel function{nullptr};
    size_t inputs{0};
    size_t outputs{0};
    size_t tells{0}; //!< The first size tensors: those that the plan asks for.
};

//! A plan may lie: operands are those that the code was compiled for.
Result<Done> checkPort(Loaded const& loaded, TensorArg const& arg, PluginPort const& agreed)
{
    Layout const layout = TENON_TRY(plugins::layoutOf(agreed.format));
    bool const fits = arg.present && arg.dtype == agreed.type && arg.layout == layout
        && static_cast<int32_t>(arg.extents.size()) == agreed.most.nbDims;
    if (fits)
        return Done{};
    return badArgument("tensor '{}' is not what plugin {} was compiled for: another type, format or rank", arg.name,
        loaded.fields.identity().show());
}

Result<Done> checkOperands(Loaded const& loaded, std::span<TensorArg const> inputs, std::span<TensorArg const> outputs)
{
    if (inputs.size() != loaded.inputs || outputs.size() != loaded.outputs)
        return badArgument("plugin {} has {} inputs and {} outputs, which is not what it was compiled for",
            loaded.fields.identity().show(), inputs.size(), outputs.size());
    for (size_t i = 0; i < inputs.size(); ++i)
        TENON_TRY(checkPort(loaded, inputs[i], loaded.fields.ports[i]));
    for (size_t i = 0; i < outputs.size(); ++i)
        TENON_TRY(checkPort(loaded, outputs[i], loaded.fields.ports[inputs.size() + i]));
    for (auto const& [output, input] : loaded.fields.aliases)
        if (static_cast<size_t>(output) >= outputs.size() || static_cast<size_t>(input) >= inputs.size()
            || outputs[static_cast<size_t>(output)].bytes() != inputs[static_cast<size_t>(input)].bytes())
            return badArgument("output {} and input {} of plugin {}, which share memory, are not of one size", output,
                input, loaded.fields.identity().show());
    for (size_t i = 0; i < loaded.tells; ++i)
    {
        auto const output = static_cast<size_t>(loaded.fields.sizeOutputs[i]);
        if (output >= outputs.size() || !outputs[output].extents.empty() || outputs[output].dtype != DType::kINT32)
            return badArgument("size tensor {} of plugin {} is no 0-D int32", output, loaded.fields.identity().show());
    }
    return Done{};
}

class CompiledRun final : public Prepared
{
  public:
    CompiledRun(std::shared_ptr<Loaded const> loaded, std::span<TensorArg const> outputs)
        : mLoaded{std::move(loaded)}
    {
        for (auto const& [output, input] : mLoaded->fields.aliases)
            mAliasBytes.push_back(static_cast<size_t>(outputs[static_cast<size_t>(output)].bytes()));
    }

    //! Grid, block, shared memory and arguments for the shapes at hand.
    Result<Done> setLaunch(std::span<int64_t const> numbers)
    {
        for (size_t i = 0; i < 6; ++i)
        {
            if (numbers[i] < 0 || numbers[i] > std::numeric_limits<int32_t>::max())
                return badArgument("{} {} of plugin {} is {}", i < 3 ? "grid" : "block", "xyz"[i % 3],
                    mLoaded -> fields.identity().show(), numbers[i]);
            (i < 3 ? mLaunch.grid : mLaunch.block)[i % 3] = static_cast<uint32_t>(numbers[i]);
        }
        if (numbers[6] < 0 || numbers[6] > std::numeric_limits<int32_t>::max())
            return badArgument(
                "plugin {} asks for {} bytes of shared memory", mLoaded->fields.identity().show(), numbers[6]);
        mLaunch.shared_bytes = static_cast<uint64_t>(numbers[6]);
        for (int64_t const number : numbers.subspan(kLaunchNumbers))
        {
            if (number < std::numeric_limits<int32_t>::min() || number > std::numeric_limits<int32_t>::max())
                return badArgument("argument {} of plugin {} is {}, which no int32 holds", mArguments.size(),
                    mLoaded->fields.identity().show(), number);
            mArguments.push_back(static_cast<int32_t>(number));
        }
        return Done{};
    }

    size_t scratchBytes() const noexcept override
    {
        return mLaunch.shared_bytes;
    }
    bool isCollective() const noexcept override
    {
        return false;
    }
    Result<Done> run(Call const& call, Lane const&) const override
    {
        std::array<void const*, kMostInputs> inputs{};
        std::copy_n(call.inputs, mLoaded->inputs, inputs.begin());
        for (size_t i = 0; i < mAliasBytes.size(); ++i)
        {
            auto const& [output, input] = mLoaded->fields.aliases[i];
            void* const shared = call.outputs[output];
            void const*& given = inputs[static_cast<size_t>(input)];
            // Other readers of the input keep their values: the kernel works on the output's memory alone.
            if (shared != given)
                std::memmove(shared, given, mAliasBytes[i]);
            given = shared;
        }
        tenon_launch launch = mLaunch;
        launch.shared = launch.shared_bytes == 0 ? nullptr : call.scratch;
        bool const isEmpty = std::ranges::count(launch.grid, 0U) + std::ranges::count(launch.block, 0U) != 0;
        if (!isEmpty) // As a launch on an accelerator: without threads nothing runs.
            mLoaded->function(&launch, inputs.data(), call.outputs, mArguments.data());
        for (size_t i = 0; i < mLoaded->tells; ++i)
        {
            auto* const told = static_cast<int32_t*>(call.outputs[mLoaded->fields.sizeOutputs[i]]);
            *told = isEmpty ? 0 : *told;
            call.produced[i] = *told;
        }
        return Done{};
    }

  private:
    std::shared_ptr<Loaded const> mLoaded; //!< Its code must outlive the run.
    tenon_launch mLaunch{};
    std::vector<int32_t> mArguments;
    std::vector<size_t> mAliasBytes;
};

class CompiledPlugin final : public Kernel
{
  public:
    explicit CompiledPlugin(std::shared_ptr<Loaded const> loaded)
        : mLoaded{std::move(loaded)}
    {
    }
    Result<std::shared_ptr<Prepared const>> prepare(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs, int32_t) const override
    {
        TENON_TRY(checkOperands(*mLoaded, inputs, outputs));
        std::vector<std::span<int64_t const>> extents;
        for (TensorArg const& input : inputs)
            extents.emplace_back(input.extents);
        auto run = std::make_shared<CompiledRun>(mLoaded, outputs);
        TENON_TRY(run->setLaunch(plugins::evaluate(mLoaded->fields.kernel->launch, extents)));
        return std::shared_ptr<Prepared const>{std::move(run)};
    }

  private:
    std::shared_ptr<Loaded const> mLoaded;
};

Result<Done> checkFields(Loaded const& loaded, KernelSource const& source)
{
    CustomLayer const& fields = loaded.fields;
    bool const fits = fields.kernel && fields.shapeInputs == 0 && loaded.inputs <= kMostInputs
        && fields.ports.size() == loaded.inputs + loaded.outputs && source.produces <= fields.sizeOutputs.size()
        && fields.kernel->launch.results.size() >= kLaunchNumbers && fields.kernel->code >= 0
        && static_cast<size_t>(fields.kernel->code) < source.code.size();
    if (!fits)
        return badArgument("the step of plugin {} with {} inputs and {} outputs does not fit what is stored of it",
            fields.identity().show(), loaded.inputs, loaded.outputs);
    std::vector<int32_t> ranks;
    for (size_t i = 0; i < loaded.inputs; ++i)
        ranks.push_back(fields.ports[i].most.nbDims);
    auto launch = plugins::checkLaunch(fields.kernel->launch, ranks);
    if (!launch)
        return std::move(launch).error().in("plugin " + fields.identity().show());
    return Done{};
}
} // namespace

std::variant<std::vector<Offer>, Refusal> offerCompiledPlugin(Problem const& problem)
{
    CustomLayer const& fields = problem.fields<CustomLayer>();
    size_t const inputs = problem.node->inputs.size();
    if (!fields.kernel)
        return refuse("compiled", "the custom layer has an object and no kernel");
    if (inputs > kMostInputs || fields.ports.size() != inputs + problem.node->outputs.size())
        return refuse("compiled", fmt::format("more than {} inputs", kMostInputs));
    Offer offer;
    for (size_t i = 0; i < fields.ports.size(); ++i)
    {
        auto const layout = plugins::layoutOf(fields.ports[i].format);
        if (!layout)
            return refuse("compiled", layout.error().message);
        (i < inputs ? offer.inputs : offer.outputs).push_back(*layout);
    }
    offer.tactic = fields.tactic;
    return std::vector<Offer>{std::move(offer)};
}

Result<KernelSpec> buildCompiledPlugin(Problem const&, Offer const&)
{
    return KernelSpec{.kernel = "compiled_plugin", .args = {}, .packed = {}}; // The node's fields say everything.
}

Result<std::unique_ptr<Kernel>> loadCompiledPlugin(KernelSource const& source)
{
    auto loaded = std::make_shared<Loaded>();
    LayerPtr const layer = TENON_TRY(loadLayer(CustomLayer::kName, source.fields));
    loaded->fields = *as<CustomLayer>(*layer);
    loaded->inputs = source.weights.size();
    loaded->outputs = source.outputs;
    loaded->tells = source.produces;
    TENON_TRY(checkFields(*loaded, source));
    CodeArg const& code = source.code[static_cast<size_t>(loaded->fields.kernel->code)];
    auto opened = KernelCode::load(code.bytes);
    if (!opened)
        return std::move(opened).error().in(std::string{code.name});
    loaded->code = *std::move(opened);
    auto function = loaded->code->function(loaded->fields.kernel->name);
    if (!function)
        return std::move(function).error().in(std::string{code.name});
    loaded->function = *function;
    return std::unique_ptr<Kernel>{std::make_unique<CompiledPlugin>(std::move(loaded))};
}

} // namespace tenon::ref
