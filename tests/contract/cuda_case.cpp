// The first GPU under the contract: its streams are held and captured by the driver's own calls.
#include "contract/device_case.h"
#include "device/cuda/cuda_device.h"

#include <algorithm>
#include <dlfcn.h>

namespace tenon::test
{

namespace
{
cuda::DriverApi const& api()
{
    return **cuda::driver();
}

CudaDevice& gpu()
{
    auto const all = allBackends();
    return static_cast<CudaDevice&>(std::ranges::find(all, std::string_view{"cuda"}, &BackendEntry::name)->device(0));
}

Result<Done> holdStream(void* stream, std::function<void()> pass)
{
    auto* const kept = new std::function<void()>{std::move(pass)};
    cuda::Current const current{gpu()};
    TENON_CUDA_TRY(
        api(), cuLaunchHostFunc, stream,
        [](void* data) {
            auto const owned = std::unique_ptr<std::function<void()>>{static_cast<std::function<void()>*>(data)};
            (*owned)();
        },
        kept);
    return Done{};
}

Result<Done> beginStreamCapture(void* stream)
{
    cuda::Current const current{gpu()};
    TENON_CUDA_TRY(api(), cuStreamBeginCapture_v2, stream, cuda::kCaptureGlobal);
    return Done{};
}

Result<void*> endStreamCapture(void* stream)
{
    cuda::Current const current{gpu()};
    void* graph{nullptr};
    TENON_CUDA_TRY(api(), cuStreamEndCapture, stream, &graph);
    void* executable{nullptr};
    TENON_CUDA_TRY(api(), cuGraphInstantiateWithFlags, &executable, graph, 0);
    TENON_CUDA_TRY(api(), cuGraphDestroy, graph);
    return executable;
}

//! Whether the library is ours, which keeps tables of its handles.
bool isFakeDriver()
{
    std::shared_ptr<void> const library{dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), [](void* handle) {
                                            if (handle != nullptr)
                                                dlclose(handle);
                                        }};
    return library != nullptr && dlsym(library.get(), "tenonFakeCalls") != nullptr;
}

Result<Done> launchExecutable(void* executable, void* stream)
{
    cuda::Current const current{gpu()};
    TENON_CUDA_TRY(api(), cuGraphLaunch, executable, stream);
    return Done{};
}

Result<Done> destroyCudaExecutable(void* executable)
{
    cuda::Current const current{gpu()};
    TENON_CUDA_TRY(api(), cuGraphExecDestroy, executable);
    return Done{};
}
} // namespace

std::vector<DeviceCase> cudaCases()
{
    auto const all = allBackends();
    auto const entry = std::ranges::find(all, std::string_view{"cuda"}, &BackendEntry::name);
    if (entry == all.end() || !entry->probe())
        return {};
    return {{"cuda", &*entry, []() -> Device& { return gpu(); }, holdStream, beginStreamCapture, endStreamCapture,
        launchExecutable, destroyCudaExecutable, isFakeDriver()}};
}

} // namespace tenon::test
