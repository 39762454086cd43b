// Modules: kernels as text to kernels that can be launched; compiled once per machine, loaded once per device.
#pragma once

#include "device/cuda/cuda_device.h"

#include <filesystem>

namespace tenon::cuda
{

//! A module on one device, for as long as the process lives.
class Module
{
  public:
    //! Of the module's kernel by its name; an error when it has none.
    Result<void*> function(char const* name) const;

  private:
    friend Result<Module const*> moduleOf(CudaDevice const& device, std::string const& source);
    Module(CudaDevice const& device, void* handle)
        : mDevice{device},
          mHandle{handle}
    {
    }

    CudaDevice const& mDevice;
    void* mHandle;
};

//! The text compiled for the device: from this process, from the folder of caches, or anew.
Result<Module const*> moduleOf(CudaDevice const& device, std::string const& source);

//! Where binaries of this machine are kept; empty: nowhere.
std::filesystem::path binaryFolder();

//! How many threads run a kernel.
struct Grid
{
    unsigned x{1};
    unsigned y{1};
    unsigned z{1};
    unsigned block{256};
    unsigned sharedBytes{0}; //!< Beside what the text declares.
};

//! Has a module's kernel be launched with so many bytes of shared memory, of which one gets 48 KiB without being asked.
//! The limit is the kernel's, for all steps and shapes that are made with its text: it only grows.
Result<Done> allowShared(CudaDevice const& device, void* function, unsigned bytes);

//! Puts a kernel of ours into the stream of a call. Behind other kernels of a graph it may begin early, as every one of
//! ours waits for them itself (`awaitFormer` of the prelude).
Result<Done> launchCode(CudaCall const& at, void* function, Grid const& grid, void** params);

//! `given` begins with `stop`. It is no parameter by value: how those of 64-byte alignment are passed depends on the
//! compiler.
template <typename Params>
Result<Done> launchKernel(CudaCall const& at, void* function, Grid const& grid, Params const& given)
{
    Params params{given};
    params.stop = reinterpret_cast<unsigned const*>(at.stop);
    void* list[]{&params};
    return launchCode(at, function, grid, list);
}

//! Blocks for so many items, a few for each multiprocessor where there are many: kernels go on in strides of the grid.
Grid gridFor(CudaDevice const& device, int64_t items, unsigned block = 256);

} // namespace tenon::cuda
