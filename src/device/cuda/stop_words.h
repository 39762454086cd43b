// StopWords: one word per run on the host and one on the device, which say that a step of the host has failed.
#pragma once

#include "device/cuda/driver.h"

#include <mutex>
#include <vector>

namespace tenon
{

class CudaDevice;

namespace cuda
{

struct StopWord
{
    uint32_t* host{nullptr};
    Address device{0};
};

//! Taken and given back without calls of the driver but for every 1024th.
class StopWords
{
  public:
    //! Null where there is no memory.
    StopWord take(CudaDevice const& device);
    void giveBack(StopWord word) noexcept;

  private:
    std::mutex mMutex;
    std::vector<StopWord> mFree;
};

} // namespace cuda
} // namespace tenon
