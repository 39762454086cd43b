// WeightBudget: which weights of an engine stay in memory, and which come and go with the steps that read them.
#pragma once

#include "base/result.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace tenon
{

struct EngineState;

//! Asked by steps of all contexts while another thread may change it: what they find changes when pages leave memory,
//! and nothing else.
class WeightBudget
{
  public:
    //! Of weights that are streamed where they have at least a page; others always stay.
    static constexpr uint64_t kLeastStreamed{4096};

    explicit WeightBudget(EngineState const& engine);

    //! All that can leave memory.
    int64_t streamable() const noexcept
    {
        return mStreamable;
    }
    //! As set; at first that of all weights.
    int64_t bytes() const noexcept
    {
        return mBytes;
    }
    //! What steps need in memory at a time of the weights that do not stay.
    int64_t passing() const;
    //! The same when none stays: there is no less.
    int64_t least() const
    {
        return passing(std::vector<uint8_t>(mWeights.size(), 0));
    }
    bool isStreamable(size_t weight) const noexcept
    {
        return mWeights[weight].bytes > 0;
    }
    bool stays(size_t weight) const noexcept
    {
        return mStays[weight].load(std::memory_order_relaxed) != 0;
    }
    //! The largest weights that fit stay, together with the room that the passage of the others takes.
    void set(int64_t bytes);

  private:
    struct Weight
    {
        int64_t bytes{0}; //!< 0: it always stays.
        int32_t uses{0};
    };

    int64_t passing(std::span<uint8_t const> stays) const;

    std::vector<Weight> mWeights;
    std::vector<std::vector<size_t>> mReadBy; //!< Per step: its streamable weights, each once.
    std::vector<size_t> mStreamOf;            //!< Per step. Those of different streams may run at a time.
    size_t mStreams{1};
    int64_t mStreamable{0};
    std::mutex mMutex; //!< Around changes.
    std::atomic<int64_t> mBytes{0};
    std::unique_ptr<std::atomic<uint8_t>[]> mStays;
};

} // namespace tenon
