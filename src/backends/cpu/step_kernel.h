// StepKernel: what lies between a plan and the steps of a layer's kernel, so that a file of kernels says what is its
// own: what it offers, and the step that it makes of a layer and operands.
//
//   Step stepOfPooling(StepOf<Pooling> const& from);
//   using PoolingFile = StepFile<"pooling", "channels-last", offersOfPooling, stepOfPooling>;
//   TENON_KERNELS(Pooling, PoolingFile::kCandidates, PoolingFile::kKernels);
#pragma once

#include "backends/cpu/kernel_file.h"
#include "backends/cpu/layer_kernel.h"
#include "device/host/host_kernel.h"

#include <algorithm>
#include <type_traits>

namespace tenon::cpu
{

//! What a kernel keeps between loading and preparing. One that keeps more derives from it, and its load() makes that.
template <typename L>
struct LoadedLayer
{
    using Fields = L;
    LayerKernel kernel;
    L layer;
};

//! What a step is made of: the layer has accepted the operands already.
template <typename Loaded>
struct StepSource
{
    std::shared_ptr<Loaded const> const& loaded;
    std::span<TensorArg const> inputs;
    std::span<TensorArg const> outputs;
    int32_t threads;

    LayerKernel const& kernel() const
    {
        return loaded->kernel;
    }
    auto const& layer() const
    {
        return loaded->layer;
    }
    //! Every operand that is there stands in this layout.
    bool areAllIn(Layout layout) const
    {
        auto const isIn = [layout](TensorArg const& arg) { return !arg.present || arg.layout == layout; };
        return std::ranges::all_of(inputs, isIn) && std::ranges::all_of(outputs, isIn);
    }
    //! Input 0 and output 0 are real numbers in this layout, which has no blocks.
    bool areReal(Layout layout) const
    {
        return blockOf(layout) == 1 && isReal(inputs, 0, layout) && isReal(outputs, 0, layout);
    }
};
template <typename L>
using StepOf = StepSource<LoadedLayer<L>>;
using Step = Result<std::shared_ptr<Prepared const>>;

template <typename Loaded>
class StepKernel final : public Kernel
{
  public:
    using MakeStep = Step (*)(StepSource<Loaded> const& from);

    StepKernel(std::shared_ptr<Loaded const> loaded, MakeStep makeStep)
        : mLoaded{std::move(loaded)},
          mMakeStep{makeStep}
    {
    }
    Step prepare(std::span<TensorArg const> inputs, std::span<TensorArg const> outputs, int32_t threads) const override
    {
        TENON_TRY(mLoaded->kernel.check(inputs, outputs));
        return mMakeStep({mLoaded, inputs, outputs, std::max(threads, 1)});
    }

  private:
    std::shared_ptr<Loaded const> mLoaded;
    MakeStep mMakeStep;
};

namespace detail
{
template <typename Function>
struct LoadedBy;
template <typename L>
struct LoadedBy<Step (*)(StepSource<L> const&)>
{
    using Type = L;
};
} // namespace detail

template <auto makeStep>
Result<std::unique_ptr<Kernel>> loadStepKernel(KernelSource const& source)
{
    using Loaded = typename detail::LoadedBy<decltype(makeStep)>::Type;
    auto loaded = std::make_shared<Loaded>();
    loaded->kernel = TENON_TRY(LayerKernel::load(source));
    if constexpr (requires { typename Loaded::Fields; })
        loaded->layer = TENON_TRY(fieldsOf<typename Loaded::Fields>(loaded->kernel.args()));
    if constexpr (requires { loaded->load(); })
        TENON_TRY(loaded->load());
    return std::unique_ptr<Kernel>{std::make_unique<StepKernel<Loaded>>(std::move(loaded), makeStep)};
}

//! A text as an argument of a template.
template <size_t N>
struct Word
{
    char text[N]{};

    constexpr Word(char const (&from)[N])
    {
        std::copy_n(from, N, text);
    }
};

//! A step without packed weights.
template <Word kernel>
Result<KernelSpec> buildPlain(Problem const& problem, Offer const& offer)
{
    return KernelSpec{.kernel = kernel.text, .args = encodeLayerArgs(problem, offer), .packed = {}};
}

//! The tables of a file with one kernel and one candidate: their names, and what is their own.
template <Word kernel, Word candidate, auto offers, auto makeStep, auto build = buildPlain<kernel>>
struct StepFile
{
    using Fields = typename detail::LoadedBy<decltype(makeStep)>::Type::Fields;
    static constexpr Candidate kCandidates[]{
        {.layer = Fields::kName, .name = candidate.text, .offers = offers, .build = build}};
    static constexpr KernelEntry kKernels[]{{kernel.text, &loadStepKernel<makeStep>}};
};

// ---- steps

//! run(call, lane) gives nothing or a result.
template <typename Run>
class TeamStep final : public HostPrepared
{
  public:
    TeamStep(Run run, size_t scratch, bool isCollective, int32_t stages = 1)
        : mRun{std::move(run)},
          mScratch{scratch},
          mIsCollective{isCollective},
          mStages{stages}
    {
    }
    size_t scratchBytes() const noexcept override
    {
        return mScratch;
    }
    bool isCollective() const noexcept override
    {
        return mIsCollective;
    }
    int32_t stages(int32_t) const noexcept override
    {
        return mStages;
    }
    Result<Done> run(Call const& call, Lane const& lane) const override
    {
        if constexpr (std::is_void_v<decltype(mRun(call, lane))>)
        {
            mRun(call, lane);
            return Done{};
        }
        else
            return mRun(call, lane);
    }

  private:
    Run mRun;
    size_t mScratch;
    bool mIsCollective;
    int32_t mStages;
};

//! All lanes call run(call, lane), in each stage.
template <typename Run>
Step teamStep(Run run, size_t scratch = 0, int32_t stages = 1)
{
    return std::shared_ptr<Prepared const>{
        std::make_shared<TeamStep<Run> const>(std::move(run), scratch, true, stages)};
}

//! One thread calls run(call, lane).
template <typename Run>
Step singleStep(Run run)
{
    return std::shared_ptr<Prepared const>{std::make_shared<TeamStep<Run> const>(std::move(run), 0, false)};
}

//! What lanes share among them, so many at a time.
struct Items
{
    int64_t count{0};
    int64_t grain{1};
};

//! Each lane calls run(call, first, last) for its part of the items.
template <typename Run>
Step sharedStep(Items items, Run run)
{
    return teamStep([items, run = std::move(run)](Call const& call, Lane const& lane) {
        auto const [first, last] = lane.part(items.count, items.grain);
        return run(call, first, last);
    });
}

//! Memory that each lane of a run has for itself.
struct LaneMemory
{
    int32_t lanes{1};
    int64_t floats{0}; //!< 0: none is needed.

    size_t bytes() const noexcept
    {
        return static_cast<size_t>(lanes * floats) * sizeof(float);
    }
    //! The lane among those that have memory; none when it has not: more lanes than were prepared for do nothing.
    std::optional<Lane> withMemory(Lane const& lane) const noexcept
    {
        int32_t const count = floats == 0 ? lane.count : std::min(lane.count, lanes);
        return lane.index < count ? std::optional{Lane{lane.index, count}} : std::nullopt;
    }
    float* of(Lane const& lane, void* scratch) const noexcept
    {
        return static_cast<float*>(scratch) + lane.index * floats;
    }
};

//! Each lane calls run(call, first, last, scratch) for its part of the items.
template <typename Run>
Step sharedStep(Items items, LaneMemory memory, Run run)
{
    auto const share = [items, memory, run = std::move(run)](Call const& call, Lane const& lane) {
        if (std::optional<Lane> const mine = memory.withMemory(lane))
        {
            auto const [first, last] = mine->part(items.count, items.grain);
            run(call, first, last, memory.of(*mine, call.scratch));
        }
    };
    return teamStep(share, memory.bytes());
}

} // namespace tenon::cpu
