// StopWords: pages of words, never returned, as runs use as many as they once did again.
#include "device/cuda/stop_words.h"

#include "device/cuda/cuda_device.h"

namespace tenon::cuda
{

StopWord StopWords::take(CudaDevice const& device)
{
    std::scoped_lock const lock{mMutex};
    if (mFree.empty())
    {
        constexpr size_t kWords{1024};
        Current const current{device};
        void* host{nullptr};
        Address there{0};
        if (device.api().cuMemHostAlloc(&host, kWords * sizeof(uint32_t), kHostPortable) != kSuccess)
            return {};
        if (device.api().cuMemAlloc_v2(&there, kWords * sizeof(uint32_t)) != kSuccess)
        {
            static_cast<void>(device.api().cuMemFreeHost(host));
            return {};
        }
        for (size_t i = 0; i < kWords; ++i)
            mFree.push_back({static_cast<uint32_t*>(host) + i, there + i * sizeof(uint32_t)});
    }
    StopWord const word = mFree.back();
    mFree.pop_back();
    *word.host = 0;
    return word;
}

void StopWords::giveBack(StopWord word) noexcept
{
    if (word.host == nullptr)
        return;
    std::scoped_lock const lock{mMutex};
    mFree.push_back(word); // Has room: as many were taken out of it.
}

} // namespace tenon::cuda
