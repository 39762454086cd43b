// The fake cuBLAS: its handles alone, for plugins that are given one.
#include "devices/fake_cuda/fake_cuda.h"

TENON_FAKE_CUDA int cublasCreate_v2(void** handle)
{
    constexpr int kNotInitialized{1};
    if (tenonFakeEnter("cublasCreate_v2") != 0)
        return kNotInitialized;
    *handle = new int{1};
    return 0;
}

TENON_FAKE_CUDA int cublasDestroy_v2(void* handle)
{
    static_cast<void>(tenonFakeEnter("cublasDestroy_v2"));
    delete static_cast<int*>(handle);
    return 0;
}
