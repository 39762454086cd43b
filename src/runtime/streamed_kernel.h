// StreamedKernel: a kernel of the host whose weights leave memory when a step has run.
#pragma once

#include "device/kernel.h"
#include "plan/paged_memory.h"
#include "runtime/weight_budget.h"

#include <mutex>
#include <string>

namespace tenon
{

//! What a step reads that need not stay: weights of the plan, and what its kernel makes of them.
class StreamedWeights final : public KernelMemory
{
  public:
    struct Part
    {
        size_t weight{0};
        std::shared_ptr<PagedMemory const> pages;
        void const* data{nullptr};
        size_t bytes{0};
    };

    StreamedWeights(WeightBudget const& budget, std::vector<Part> parts, std::string folder,
        std::shared_ptr<KernelMemory const> small)
        : mBudget{budget},
          mParts{std::move(parts)},
          mFolder{std::move(folder)},
          mSmall{std::move(small)}
    {
    }

    //! For what a kernel makes of its weights, which goes with them.
    Result<std::shared_ptr<void>> allocate(size_t bytes) const override;
    //! Of `count` threads that are done with the step, the `index`th: its share leaves memory.
    void drop(size_t index, size_t count) const noexcept;

  private:
    WeightBudget const& mBudget;
    std::vector<Part> mParts;
    std::string mFolder;
    std::shared_ptr<KernelMemory const> mSmall; //!< Where less than is streamed comes from.
    mutable std::mutex mMutex;
    mutable std::vector<std::weak_ptr<PagedMemory const>> mMade;
};

std::unique_ptr<Kernel> streamed(std::unique_ptr<Kernel> kernel, std::shared_ptr<StreamedWeights const> weights);

} // namespace tenon
