// CublasLt: NVIDIA's library of matrix products, found at run time. Types and numbers are our own; tests/cuda compares
// them with the toolkit's headers.
#pragma once

#include "device/cuda/cuda_device.h"

#include <array>

namespace tenon::cuda
{

//! What the library does a product by, and what that takes.
struct LtHeuristic
{
    std::array<uint64_t, 8> algorithm{};
    size_t workspaceBytes{0};
    int state{0};
    float waves{0.0F};
    std::array<int, 4> reserved{};
};

// name, parameters
#define TENON_CUBLAS_LT(FUNCTION)                                                                                      \
    FUNCTION(cublasLtCreate, (void** handle))                                                                          \
    FUNCTION(cublasLtMatmulDescCreate, (void** product, int compute, int scale))                                       \
    FUNCTION(cublasLtMatmulDescDestroy, (void* product))                                                               \
    FUNCTION(cublasLtMatmulDescSetAttribute, (void* product, int attribute, void const* value, size_t bytes))          \
    FUNCTION(cublasLtMatrixLayoutCreate, (void** matrix, int type, uint64_t rows, uint64_t columns, int64_t leading))  \
    FUNCTION(cublasLtMatrixLayoutDestroy, (void* matrix))                                                              \
    FUNCTION(cublasLtMatrixLayoutSetAttribute, (void* matrix, int attribute, void const* value, size_t bytes))         \
    FUNCTION(cublasLtMatmulPreferenceCreate, (void** preference))                                                      \
    FUNCTION(cublasLtMatmulPreferenceDestroy, (void* preference))                                                      \
    FUNCTION(cublasLtMatmulPreferenceSetAttribute, (void* preference, int attribute, void const* value, size_t bytes)) \
    FUNCTION(cublasLtMatmulAlgoGetHeuristic,                                                                           \
        (void* handle, void* product, void* a, void* b, void* c, void* d, void* preference, int wanted,                \
            LtHeuristic* found, int* count))                                                                           \
    FUNCTION(cublasLtMatmul,                                                                                           \
        (void* handle, void* product, void const* alpha, void const* a, void* aLayout, void const* b, void* bLayout,   \
            void const* beta, void const* c, void* cLayout, void* d, void* dLayout, void const* algorithm,             \
            void* workspace, size_t workspaceBytes, void* stream))

struct LtApi
{
#define TENON_CUBLAS_LT_MEMBER(name, parameters) int(*name) parameters{nullptr};
    TENON_CUBLAS_LT(TENON_CUBLAS_LT_MEMBER)
#undef TENON_CUBLAS_LT_MEMBER
    char const* (*cublasLtGetStatusName)(int status){nullptr};
    size_t (*cublasLtGetVersion)(){nullptr};
};

enum LtNumber : int
{
    kLtCompute32F = 68,
    kLtComputeTf32 = 77,
    kLtReal32F = 0,
    kLtReal16F = 2,
    kLtReal16Bf = 14,
    kLtReal8E4M3 = 28,
    kLtTransposed = 1,
    kLtEpilogueRelu = 2,
    kLtEpilogueBias = 4,  //!< Added to the others: 6 is ReLU behind a bias.
    kLtEpilogueGelu = 32, //!< By tanh.
    kLtProductTransposeA = 3,
    kLtProductTransposeB = 4,
    kLtProductEpilogue = 7,
    kLtProductBiasPointer = 8,
    kLtMatrixBatchCount = 5,
    kLtMatrixBatchStride = 6,
    kLtPreferenceWorkspace = 1,
    kLtPreferenceAlignmentA = 5,
    kLtPreferenceAlignmentB = 6,
    kLtPreferenceAlignmentC = 7,
    kLtPreferenceAlignmentD = 8,
};

//! The first that the machine has; an error that says where it was looked for.
Result<LtApi const*> cublasLt();
Result<LtApi> openCublasLt(std::vector<std::string> const& libraries);
//! The library's handle for a GPU, made once; the device's context is current.
Result<void*> ltHandleOf(LtApi const& api, CudaDevice const& device);
Error errorOfLt(LtApi const& api, int status, std::string_view call);

//! Calls the library, or hands the error on from the function that stands around.
#define TENON_LT_TRY(api, name, ...)                                                                                   \
    do                                                                                                                 \
    {                                                                                                                  \
        if (int const ltStatus = (api).name(__VA_ARGS__); ltStatus != 0)                                               \
            return ::tenon::cuda::errorOfLt(api, ltStatus, #name);                                                     \
    } while (false)

} // namespace tenon::cuda
