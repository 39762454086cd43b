// AddedKernels: kernels that a device looks up behind its own table; whoever joins backends adds them.
#pragma once

#include "device/kernel.h"

#include <mutex>

namespace tenon
{

class AddedKernels
{
  public:
    void add(std::span<KernelEntry const> kernels)
    {
        std::scoped_lock const lock{mMutex};
        mAll.insert(mAll.end(), kernels.begin(), kernels.end());
    }
    //! Loads it without the lock, as a plugin's code may load an engine of its own; an error when there is none.
    Result<std::unique_ptr<Kernel>> load(std::string_view device, KernelSource const& source) const
    {
        if (KernelFactory const factory = find(source.kernel))
            return factory(source);
        return badArgument("device '{}' has no kernel '{}'", device, source.kernel);
    }

  private:
    KernelFactory find(std::string_view name) const
    {
        std::scoped_lock const lock{mMutex};
        for (KernelEntry const& entry : mAll)
            if (entry.name == name)
                return entry.load;
        return nullptr;
    }

    mutable std::mutex mMutex;
    std::vector<KernelEntry> mAll;
};

} // namespace tenon
