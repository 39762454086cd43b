// StreamedKernel: the kernel itself, and then its weights go.
#include "runtime/streamed_kernel.h"

#include "device/host/host_kernel.h"

#include <algorithm>

namespace tenon
{

namespace
{
class StreamedPrepared final : public HostPrepared
{
  public:
    StreamedPrepared(std::shared_ptr<Prepared const> kernel, std::shared_ptr<StreamedWeights const> weights)
        : mKernel{std::move(kernel)},
          mWeights{std::move(weights)}
    {
    }
    size_t scratchBytes() const noexcept override
    {
        return mKernel->scratchBytes();
    }
    bool isCollective() const noexcept override
    {
        return hostPrepared(*mKernel).isCollective();
    }
    //! The kernel's, and one more when nobody reads any longer.
    int32_t stages(int32_t lanes) const noexcept override
    {
        return hostPrepared(*mKernel).stages(lanes) + 1;
    }
    bool meets(int32_t lanes) const noexcept override
    {
        return hostPrepared(*mKernel).meets(lanes);
    }
    Result<Done> run(Call const& call, Lane const& lane) const override
    {
        if (lane.stage + 1 < stages(lane.count))
            return hostPrepared(*mKernel).run(call, lane);
        mWeights->drop(static_cast<size_t>(lane.index), static_cast<size_t>(lane.count));
        return Done{};
    }
    void abandon() const noexcept override
    {
        hostPrepared(*mKernel).abandon();
        mWeights->drop(0, 1);
    }

  private:
    std::shared_ptr<Prepared const> mKernel;
    std::shared_ptr<StreamedWeights const> mWeights;
};

class StreamedKernel final : public Kernel
{
  public:
    StreamedKernel(std::unique_ptr<Kernel> kernel, std::shared_ptr<StreamedWeights const> weights)
        : mKernel{std::move(kernel)},
          mWeights{std::move(weights)}
    {
    }
    Result<std::shared_ptr<Prepared const>> prepare(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs, int32_t hostThreads) const override
    {
        auto prepared = mKernel->prepare(inputs, outputs, hostThreads);
        mWeights->drop(0, 1); // Some are looked at, or made into another form, for the shapes.
        return std::shared_ptr<Prepared const>{
            std::make_shared<StreamedPrepared>(TENON_TRY(std::move(prepared)), mWeights)};
    }

  private:
    std::unique_ptr<Kernel> mKernel;
    std::shared_ptr<StreamedWeights const> mWeights;
};
} // namespace

Result<std::shared_ptr<void>> StreamedWeights::allocate(size_t bytes) const
{
    if (bytes < WeightBudget::kLeastStreamed)
        return mSmall->allocate(bytes);
    std::shared_ptr<PagedMemory> pages = TENON_TRY(PagedMemory::make(bytes, mFolder));
    void* const data = pages->data();
    std::scoped_lock const lock{mMutex};
    std::erase_if(mMade, [](auto const& made) { return made.expired(); });
    mMade.push_back(pages);
    return std::shared_ptr<void>{std::move(pages), data};
}

void StreamedWeights::drop(size_t index, size_t count) const noexcept
{
    bool goes{false};
    for (Part const& part : mParts)
    {
        if (mBudget.stays(part.weight))
            continue;
        goes = true;
        size_t const first = part.bytes / count * index;
        size_t const last = index + 1 == count ? part.bytes : part.bytes / count * (index + 1);
        part.pages->drop(static_cast<uint8_t const*>(part.data) + first, last - first);
    }
    if (!goes || index != 0)
        return;
    std::scoped_lock const lock{mMutex};
    for (std::weak_ptr<PagedMemory const> const& made : mMade)
        if (std::shared_ptr<PagedMemory const> const pages = made.lock())
            pages->drop(pages->bytes().data(), pages->bytes().size());
}

std::unique_ptr<Kernel> streamed(std::unique_ptr<Kernel> kernel, std::shared_ptr<StreamedWeights const> weights)
{
    return std::make_unique<StreamedKernel>(std::move(kernel), std::move(weights));
}

} // namespace tenon
