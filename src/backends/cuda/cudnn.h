// Cudnn: NVIDIA's library of neural networks, found at run time: the calls of its graph API. Types and numbers are our
// own; tests/cuda compares them with the library's headers.
#pragma once

#include "device/cuda/cuda_device.h"

#include <functional>
#include <memory>
#include <mutex>

namespace tenon::cuda
{

// name, parameters
#define TENON_CUDNN(FUNCTION)                                                                                          \
    FUNCTION(cudnnCreate, (void** handle))                                                                             \
    FUNCTION(cudnnSetStream, (void* handle, void* stream))                                                             \
    FUNCTION(cudnnBackendCreateDescriptor, (int kind, void** descriptor))                                              \
    FUNCTION(cudnnBackendDestroyDescriptor, (void* descriptor))                                                        \
    FUNCTION(cudnnBackendFinalize, (void* descriptor))                                                                 \
    FUNCTION(                                                                                                          \
        cudnnBackendSetAttribute, (void* descriptor, int attribute, int type, int64_t count, void const* elements))    \
    FUNCTION(cudnnBackendGetAttribute,                                                                                 \
        (void* descriptor, int attribute, int type, int64_t wanted, int64_t* count, void* elements))                   \
    FUNCTION(cudnnBackendExecute, (void* handle, void* plan, void* variant))

struct CudnnApi
{
#define TENON_CUDNN_MEMBER(name, parameters) int(*name) parameters{nullptr};
    TENON_CUDNN(TENON_CUDNN_MEMBER)
#undef TENON_CUDNN_MEMBER
    char const* (*cudnnGetErrorString)(int status){nullptr};
    size_t (*cudnnGetVersion)(){nullptr};
};

// name, the header's name without CUDNN_, number
#define TENON_CUDNN_NUMBERS(NUMBER)                                                                                    \
    NUMBER(kDataFloat, DATA_FLOAT, 0)                                                                                  \
    NUMBER(kDataHalf, DATA_HALF, 2)                                                                                    \
    NUMBER(kDataBfloat, DATA_BFLOAT16, 9)                                                                              \
    NUMBER(kCrossCorrelation, CROSS_CORRELATION, 1)                                                                    \
    NUMBER(kPointwiseAdd, POINTWISE_ADD, 0)                                                                            \
    NUMBER(kPointwiseMultiply, POINTWISE_MUL, 1)                                                                       \
    NUMBER(kPointwiseRelu, POINTWISE_RELU_FWD, 100)                                                                    \
    NUMBER(kPointwiseTanh, POINTWISE_TANH_FWD, 101)                                                                    \
    NUMBER(kPointwiseSigmoid, POINTWISE_SIGMOID_FWD, 102)                                                              \
    NUMBER(kPointwiseElu, POINTWISE_ELU_FWD, 103)                                                                      \
    NUMBER(kPointwiseGelu, POINTWISE_GELU_FWD, 104)                                                                    \
    NUMBER(kPointwiseSwish, POINTWISE_SWISH_FWD, 106)                                                                  \
    NUMBER(kPointwiseGeluTanh, POINTWISE_GELU_APPROX_TANH_FWD, 107)                                                    \
    NUMBER(kTypeHandle, TYPE_HANDLE, 0)                                                                                \
    NUMBER(kTypeDataType, TYPE_DATA_TYPE, 1)                                                                           \
    NUMBER(kTypeBoolean, TYPE_BOOLEAN, 2)                                                                              \
    NUMBER(kTypeInt64, TYPE_INT64, 3)                                                                                  \
    NUMBER(kTypeFloat, TYPE_FLOAT, 4)                                                                                  \
    NUMBER(kTypeDouble, TYPE_DOUBLE, 5)                                                                                \
    NUMBER(kTypeAddress, TYPE_VOID_PTR, 6)                                                                             \
    NUMBER(kTypeConvolutionMode, TYPE_CONVOLUTION_MODE, 7)                                                             \
    NUMBER(kTypeHeuristicMode, TYPE_HEUR_MODE, 8)                                                                      \
    NUMBER(kTypeNumericalNote, TYPE_NUMERICAL_NOTE, 11)                                                                \
    NUMBER(kTypePointwiseMode, TYPE_POINTWISE_MODE, 14)                                                                \
    NUMBER(kTypeDescriptor, TYPE_BACKEND_DESCRIPTOR, 15)                                                               \
    NUMBER(kTypeText, TYPE_CHAR, 24)                                                                                   \
    NUMBER(kPointwise, BACKEND_POINTWISE_DESCRIPTOR, 0)                                                                \
    NUMBER(kConvolution, BACKEND_CONVOLUTION_DESCRIPTOR, 1)                                                            \
    NUMBER(kEngine, BACKEND_ENGINE_DESCRIPTOR, 2)                                                                      \
    NUMBER(kEngineConfig, BACKEND_ENGINECFG_DESCRIPTOR, 3)                                                             \
    NUMBER(kHeuristic, BACKEND_ENGINEHEUR_DESCRIPTOR, 4)                                                               \
    NUMBER(kExecutionPlan, BACKEND_EXECUTION_PLAN_DESCRIPTOR, 5)                                                       \
    NUMBER(kForward, BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, 10)                                             \
    NUMBER(kBackwardData, BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, 12)                                  \
    NUMBER(kPointwiseOperation, BACKEND_OPERATION_POINTWISE_DESCRIPTOR, 13)                                            \
    NUMBER(kOperationGraph, BACKEND_OPERATIONGRAPH_DESCRIPTOR, 15)                                                     \
    NUMBER(kVariantPack, BACKEND_VARIANT_PACK_DESCRIPTOR, 16)                                                          \
    NUMBER(kTensor, BACKEND_TENSOR_DESCRIPTOR, 17)                                                                     \
    NUMBER(kMatmul, BACKEND_MATMUL_DESCRIPTOR, 18)                                                                     \
    NUMBER(kMatmulOperation, BACKEND_OPERATION_MATMUL_DESCRIPTOR, 19)                                                  \
    NUMBER(kDeviceProperties, BACKEND_DEVICEPROP_DESCRIPTOR, 38)                                                       \
    NUMBER(kPointwiseMode, ATTR_POINTWISE_MODE, 0)                                                                     \
    NUMBER(kPointwisePrecision, ATTR_POINTWISE_MATH_PREC, 1)                                                           \
    NUMBER(kReluUpperClip, ATTR_POINTWISE_RELU_UPPER_CLIP, 4)                                                          \
    NUMBER(kReluSlope, ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE, 5)                                                        \
    NUMBER(kEluAlpha, ATTR_POINTWISE_ELU_ALPHA, 6)                                                                     \
    NUMBER(kSwishBeta, ATTR_POINTWISE_SWISH_BETA, 8)                                                                   \
    NUMBER(kConvolutionType, ATTR_CONVOLUTION_COMP_TYPE, 100)                                                          \
    NUMBER(kConvolutionMode, ATTR_CONVOLUTION_CONV_MODE, 101)                                                          \
    NUMBER(kConvolutionDilations, ATTR_CONVOLUTION_DILATIONS, 102)                                                     \
    NUMBER(kConvolutionStrides, ATTR_CONVOLUTION_FILTER_STRIDES, 103)                                                  \
    NUMBER(kConvolutionPost, ATTR_CONVOLUTION_POST_PADDINGS, 104)                                                      \
    NUMBER(kConvolutionPre, ATTR_CONVOLUTION_PRE_PADDINGS, 105)                                                        \
    NUMBER(kConvolutionAxes, ATTR_CONVOLUTION_SPATIAL_DIMS, 106)                                                       \
    NUMBER(kHeuristicMode, ATTR_ENGINEHEUR_MODE, 200)                                                                  \
    NUMBER(kHeuristicGraph, ATTR_ENGINEHEUR_OPERATION_GRAPH, 201)                                                      \
    NUMBER(kHeuristicResults, ATTR_ENGINEHEUR_RESULTS, 202)                                                            \
    NUMBER(kHeuristicDevice, ATTR_ENGINEHEUR_DEVICEPROP, 204)                                                          \
    NUMBER(kConfigEngine, ATTR_ENGINECFG_ENGINE, 300)                                                                  \
    NUMBER(kPlanHandle, ATTR_EXECUTION_PLAN_HANDLE, 400)                                                               \
    NUMBER(kPlanConfig, ATTR_EXECUTION_PLAN_ENGINE_CONFIG, 401)                                                        \
    NUMBER(kPlanWorkspace, ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, 402)                                                    \
    NUMBER(kPlanDevice, ATTR_EXECUTION_PLAN_DEVICEPROP, 407)                                                           \
    NUMBER(kForwardAlpha, ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, 700)                                               \
    NUMBER(kForwardBeta, ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, 701)                                                 \
    NUMBER(kForwardConvolution, ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, 702)                                     \
    NUMBER(kForwardFilter, ATTR_OPERATION_CONVOLUTION_FORWARD_W, 703)                                                  \
    NUMBER(kForwardIn, ATTR_OPERATION_CONVOLUTION_FORWARD_X, 704)                                                      \
    NUMBER(kForwardOut, ATTR_OPERATION_CONVOLUTION_FORWARD_Y, 705)                                                     \
    NUMBER(kBackwardAlpha, ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, 706)                                             \
    NUMBER(kBackwardBeta, ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA, 707)                                               \
    NUMBER(kBackwardConvolution, ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, 708)                                   \
    NUMBER(kBackwardFilter, ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, 709)                                                \
    NUMBER(kBackwardOut, ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, 710)                                                  \
    NUMBER(kBackwardIn, ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, 711)                                                   \
    NUMBER(kPointwiseDescriptor, ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, 750)                                          \
    NUMBER(kPointwiseX, ATTR_OPERATION_POINTWISE_XDESC, 751)                                                           \
    NUMBER(kPointwiseB, ATTR_OPERATION_POINTWISE_BDESC, 752)                                                           \
    NUMBER(kPointwiseY, ATTR_OPERATION_POINTWISE_YDESC, 753)                                                           \
    NUMBER(kGraphHandle, ATTR_OPERATIONGRAPH_HANDLE, 800)                                                              \
    NUMBER(kGraphOperations, ATTR_OPERATIONGRAPH_OPS, 801)                                                             \
    NUMBER(kTensorAlignment, ATTR_TENSOR_BYTE_ALIGNMENT, 900)                                                          \
    NUMBER(kTensorType, ATTR_TENSOR_DATA_TYPE, 901)                                                                    \
    NUMBER(kTensorExtents, ATTR_TENSOR_DIMENSIONS, 902)                                                                \
    NUMBER(kTensorStrides, ATTR_TENSOR_STRIDES, 903)                                                                   \
    NUMBER(kTensorId, ATTR_TENSOR_UNIQUE_ID, 906)                                                                      \
    NUMBER(kTensorIsVirtual, ATTR_TENSOR_IS_VIRTUAL, 907)                                                              \
    NUMBER(kTensorIsByValue, ATTR_TENSOR_IS_BY_VALUE, 908)                                                             \
    NUMBER(kVariantIds, ATTR_VARIANT_PACK_UNIQUE_IDS, 1000)                                                            \
    NUMBER(kVariantAddresses, ATTR_VARIANT_PACK_DATA_POINTERS, 1001)                                                   \
    NUMBER(kVariantWorkspace, ATTR_VARIANT_PACK_WORKSPACE, 1003)                                                       \
    NUMBER(kEngineNotes, ATTR_ENGINE_NUMERICAL_NOTE, 1303)                                                             \
    NUMBER(kMatmulType, ATTR_MATMUL_COMP_TYPE, 1500)                                                                   \
    NUMBER(kMatmulA, ATTR_OPERATION_MATMUL_ADESC, 1520)                                                                \
    NUMBER(kMatmulB, ATTR_OPERATION_MATMUL_BDESC, 1521)                                                                \
    NUMBER(kMatmulC, ATTR_OPERATION_MATMUL_CDESC, 1522)                                                                \
    NUMBER(kMatmulDescriptor, ATTR_OPERATION_MATMUL_DESC, 1523)                                                        \
    NUMBER(kDeviceText, ATTR_DEVICEPROP_JSON_REPRESENTATION, 2702)                                                     \
    NUMBER(kNoteTensorCore, NUMERICAL_NOTE_TENSOR_CORE, 0)                                                             \
    NUMBER(kNoteDownConversion, NUMERICAL_NOTE_DOWN_CONVERT_INPUTS, 1)                                                 \
    NUMBER(kNoteReducedSums, NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION, 2)                                            \
    NUMBER(kNoteFft, NUMERICAL_NOTE_FFT, 3)                                                                            \
    NUMBER(kNoteNondeterministic, NUMERICAL_NOTE_NONDETERMINISTIC, 4)                                                  \
    NUMBER(kNoteWinograd, NUMERICAL_NOTE_WINOGRAD, 5)                                                                  \
    NUMBER(kNoteWinograd4, NUMERICAL_NOTE_WINOGRAD_TILE_4x4, 6)                                                        \
    NUMBER(kNoteWinograd6, NUMERICAL_NOTE_WINOGRAD_TILE_6x6, 7)                                                        \
    NUMBER(kNoteWinograd13, NUMERICAL_NOTE_WINOGRAD_TILE_13x13, 8)                                                     \
    NUMBER(kHeuristicFallback, HEUR_MODE_FALLBACK, 2)                                                                  \
    NUMBER(kHeuristicA, HEUR_MODE_A, 3)

// Of attention as one operation, which releases before 9.14 do not have.
#define TENON_CUDNN_ATTENTION_NUMBERS(NUMBER)                                                                          \
    NUMBER(kAttention, BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR, 41)                                                      \
    NUMBER(kAttentionQ, ATTR_OPERATION_SDPA_FWD_QDESC, 2800)                                                           \
    NUMBER(kAttentionK, ATTR_OPERATION_SDPA_FWD_KDESC, 2801)                                                           \
    NUMBER(kAttentionV, ATTR_OPERATION_SDPA_FWD_VDESC, 2802)                                                           \
    NUMBER(kAttentionOut, ATTR_OPERATION_SDPA_FWD_ODESC, 2803)                                                         \
    NUMBER(kAttentionScale, ATTR_OPERATION_SDPA_FWD_SCALEDESC, 2805)

namespace dnn
{
enum Number : int
{
#define TENON_CUDNN_NUMBER(name, header, number) name = number,
    TENON_CUDNN_NUMBERS(TENON_CUDNN_NUMBER) TENON_CUDNN_ATTENTION_NUMBERS(TENON_CUDNN_NUMBER)
#undef TENON_CUDNN_NUMBER
};
} // namespace dnn

//! The library's handle for a GPU that launches plans; one thread at a time may use a handle.
struct CudnnHandle
{
    void* handle{nullptr};
    std::mutex mutex;
};

//! A handle to describe and plan graphs with, the caller's alone: asking for a plan takes up to a second.
using CudnnPlanner = std::unique_ptr<void, std::function<void(void* handle)>>;

//! What the machine has; an error that says where it was looked for.
Result<CudnnApi const*> cudnn();
Result<CudnnApi> openCudnn(std::vector<std::string> const& libraries);
//! Made once per GPU; the device's context is current.
Result<CudnnHandle*> cudnnHandleOf(CudnnApi const& api, CudaDevice const& device);
//! As many as there are threads that plan at the same time; the device's context is current.
Result<CudnnPlanner> cudnnPlanner(CudnnApi const& api, CudaDevice const& device);
Error errorOfCudnn(CudnnApi const& api, int status, std::string_view call);

//! Calls the library, or hands the error on from the function that stands around.
#define TENON_CUDNN_TRY(api, name, ...)                                                                                \
    do                                                                                                                 \
    {                                                                                                                  \
        if (int const cudnnStatus = (api).name(__VA_ARGS__); cudnnStatus != 0)                                         \
            return ::tenon::cuda::errorOfCudnn(api, cudnnStatus, #name);                                               \
    } while (false)

} // namespace tenon::cuda
