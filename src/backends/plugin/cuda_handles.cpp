// CudaHandles: found in the process, made and destroyed with the GPU's context current.
#include "backends/plugin/cuda_handles.h"

#include <dlfcn.h>
#include <map>
#include <mutex>

namespace tenon::custom
{

namespace
{
struct HandleLibrary
{
    char const* name;
    std::array<char const*, 3> files; //!< Newest first.
    char const* create;
    char const* destroy;
};

constexpr HandleLibrary kCudnn{
    "cuDNN", {"libcudnn.so.9", "libcudnn.so.8", "libcudnn.so"}, "cudnnCreate", "cudnnDestroy"};
constexpr HandleLibrary kCublas{
    "cuBLAS", {"libcublas.so.13", "libcublas.so.12", "libcublas.so"}, "cublasCreate_v2", "cublasDestroy_v2"};

template <typename Function>
Function functionOf(HandleLibrary const& library, char const* name)
{
    for (char const* const file : library.files)
        if (void* const opened = dlopen(file, RTLD_NOW | RTLD_NOLOAD)) // Kept: handles need it.
            return reinterpret_cast<Function>(dlsym(opened, name));
    return nullptr;
}

template <typename Handle>
Result<Handle*> created(HandleLibrary const& library)
{
    auto const create = functionOf<int (*)(Handle**)>(library, library.create);
    Handle* handle{nullptr};
    if (create == nullptr)
        return handle;
    if (int const status = create(&handle); status != 0)
        return errorOf(ErrorCode::kFAILED_INITIALIZATION, "{} of {} answers {}", library.create, library.name, status);
    return handle;
}

template <typename Handle>
void destroyed(HandleLibrary const& library, Handle* handle) noexcept
{
    if (handle != nullptr)
        if (auto const destroy = functionOf<int (*)(Handle*)>(library, library.destroy))
            static_cast<void>(destroy(handle));
}

//! By the allocator of a context, which no other living one has.
struct OfContexts
{
    std::mutex mutex;
    std::map<void const*, std::weak_ptr<CudaHandles const>> all;
};

OfContexts& ofContexts()
{
    static auto* const instance = new OfContexts; // Contexts of static objects go late.
    return *instance;
}
} // namespace

Result<std::shared_ptr<CudaHandles const>> CudaHandles::of(CudaDevice const& device, ContextResources const& context)
{
    std::scoped_lock const lock{ofContexts().mutex};
    std::erase_if(ofContexts().all, [](auto const& each) { return each.second.expired(); });
    std::weak_ptr<CudaHandles const>& kept = ofContexts().all[context.allocator];
    if (auto found = kept.lock())
        return found;
    std::shared_ptr<CudaHandles> made{new CudaHandles{device}};
    TENON_TRY(made->make());
    kept = made;
    return std::shared_ptr<CudaHandles const>{std::move(made)};
}

Result<Done> CudaHandles::make()
{
    cuda::Current const current{mDevice};
    mAll.cudnn = TENON_TRY(created<cudnnContext>(kCudnn));
    mAll.cublas = TENON_TRY(created<cublasContext>(kCublas));
    return Done{};
}

CudaHandles::~CudaHandles()
{
    cuda::Current const current{mDevice};
    destroyed(kCudnn, mAll.cudnn);
    destroyed(kCublas, mAll.cublas);
}

} // namespace tenon::custom
