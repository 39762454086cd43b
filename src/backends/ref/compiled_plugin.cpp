// Kernel "compiled_plugin": a custom layer whose code the plan carries, on a device whose memory is the host's.
#include "backends/ref/plugin_ports.h"
#include "device/host/host_kernel.h"
#include "plugins/kernel_code.h"

#include <algorithm>
#include <array>
#include <limits>

namespace tenon::ref
{

namespace
{
using plugins::KernelCode;

constexpr size_t kLaunchNumbers{7};

//! What the steps of all shapes share.
struct Loaded
{
    PluginPorts ports;
    std::shared_ptr<KernelCode const> code;
    tenon_kernel function{nullptr};

    CustomLayer const& fields() const noexcept
    {
        return ports.fields;
    }
};

class CompiledRun final : public HostPrepared
{
  public:
    CompiledRun(std::shared_ptr<Loaded const> loaded, std::span<TensorArg const> outputs)
        : mLoaded{std::move(loaded)},
          mAliasBytes{mLoaded->ports.aliasBytes(outputs)}
    {
    }

    //! Grid, block, shared memory and arguments for the shapes at hand.
    Result<Done> setLaunch(std::span<int64_t const> numbers)
    {
        for (size_t i = 0; i < 6; ++i)
        {
            if (numbers[i] < 0 || numbers[i] > std::numeric_limits<int32_t>::max())
                return badArgument("{} {} of plugin {} is {}", i < 3 ? "grid" : "block", "xyz"[i % 3],
                    mLoaded -> fields().identity().show(), numbers[i]);
            uint32_t* const side = i < 3 ? mLaunch.grid : mLaunch.block;
            side[i % 3] = static_cast<uint32_t>(numbers[i]);
        }
        if (numbers[6] < 0 || numbers[6] > std::numeric_limits<int32_t>::max())
            return badArgument(
                "plugin {} asks for {} bytes of shared memory", mLoaded->fields().identity().show(), numbers[6]);
        mLaunch.shared_bytes = static_cast<uint64_t>(numbers[6]);
        for (int64_t const number : numbers.subspan(kLaunchNumbers))
        {
            if (number < std::numeric_limits<int32_t>::min() || number > std::numeric_limits<int32_t>::max())
                return badArgument("argument {} of plugin {} is {}, which no int32 holds", mArguments.size(),
                    mLoaded->fields().identity().show(), number);
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
        std::array<void const*, CustomLayer::kMostInputs> inputs{};
        std::copy_n(call.inputs, mLoaded->ports.inputs, inputs.begin());
        mLoaded->ports.takeOver(call, mAliasBytes, inputs.data());
        tenon_launch launch = mLaunch;
        launch.shared = launch.shared_bytes == 0 ? nullptr : call.scratch;
        bool const isEmpty = std::ranges::count(launch.grid, 0U) + std::ranges::count(launch.block, 0U) != 0;
        if (!isEmpty) // As a launch on an accelerator: without threads nothing runs.
            mLoaded->function(&launch, inputs.data(), call.outputs, mArguments.data());
        for (size_t i = 0; i < mLoaded->ports.tells; ++i)
        {
            auto* const told = static_cast<int32_t*>(call.outputs[mLoaded->fields().sizeOutputs[i]]);
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
        TENON_TRY(mLoaded->ports.check(inputs, outputs));
        std::vector<std::span<int64_t const>> extents;
        for (TensorArg const& input : inputs)
            extents.emplace_back(input.extents);
        auto run = std::make_shared<CompiledRun>(mLoaded, outputs);
        TENON_TRY(run->setLaunch(plugins::evaluate(mLoaded->fields().kernel->launch, extents)));
        return std::shared_ptr<Prepared const>{std::move(run)};
    }

  private:
    std::shared_ptr<Loaded const> mLoaded;
};

Result<Done> checkFields(Loaded const& loaded, KernelSource const& source)
{
    CustomLayer const& fields = loaded.fields();
    bool const fits = fields.kernel && fields.shapeInputs == 0 && loaded.ports.inputs <= CustomLayer::kMostInputs
        && fields.ports.size() == loaded.ports.inputs + loaded.ports.outputs
        && source.produces <= fields.sizeOutputs.size() && fields.kernel->launch.results.size() >= kLaunchNumbers
        && fields.kernel->code >= 0 && static_cast<size_t>(fields.kernel->code) < source.code.size();
    if (!fits)
        return badArgument("the step of plugin {} with {} inputs and {} outputs does not fit what is stored of it",
            fields.identity().show(), loaded.ports.inputs, loaded.ports.outputs);
    std::vector<int32_t> ranks;
    for (size_t i = 0; i < loaded.ports.inputs; ++i)
        ranks.push_back(fields.ports[i].most.nbDims);
    auto launch = plugins::checkLaunch(fields.kernel->launch, ranks);
    if (!launch)
        return std::move(launch).error().in("plugin " + fields.identity().show());
    return Done{};
}
} // namespace

std::variant<std::vector<Offer>, Refusal> offerCompiledPlugin(Problem const& problem)
{
    if (!problem.fields<CustomLayer>().kernel)
        return refuse("compiled", "the custom layer has an object and no kernel");
    return offerPorts(problem, "compiled");
}

Result<KernelSpec> buildCompiledPlugin(Problem const&, Offer const&)
{
    return KernelSpec{.kernel = "compiled_plugin", .args = {}, .packed = {}}; // The node's fields say everything.
}

Result<std::unique_ptr<Kernel>> loadCompiledPlugin(KernelSource const& source)
{
    auto loaded = std::make_shared<Loaded>();
    LayerPtr const layer = TENON_TRY(loadLayer(CustomLayer::kName, source.fields));
    loaded->ports = {*as<CustomLayer>(*layer), source.weights.size(), source.outputs, source.produces};
    TENON_TRY(checkFields(*loaded, source));
    CodeArg const& code = source.code[static_cast<size_t>(loaded->fields().kernel->code)];
    auto opened = KernelCode::load(code.bytes);
    if (!opened)
        return std::move(opened).error().in(std::string{code.name});
    loaded->code = *std::move(opened);
    auto function = loaded->code->function(loaded->fields().kernel->name);
    if (!function)
        return std::move(function).error().in(std::string{code.name});
    loaded->function = *function;
    return std::unique_ptr<Kernel>{std::make_unique<CompiledPlugin>(std::move(loaded))};
}

} // namespace tenon::ref
