// The CUDA backend: kernels that are printed as text, compiled on the machine at hand, and kept on disk. The driver and
// its compiler are opened at run time.
#pragma once

#include "backend/candidate.h"
#include "device/cuda/cuda_kernel.h"
#include "device/device.h"

#include <optional>
#include <span>

namespace tenon
{

//! The build-time face; whoever joins backends appends candidates of the host.
Backend cudaBackend();
//! How many GPUs there are; an error that says what is missing.
Result<int32_t> probeCuda();
//! The GPU whose context is current in the calling thread, as after cudaSetDevice().
std::optional<int32_t> currentCuda();
//! Makes its context, which stays until the process ends; an error where that cannot be, or the GPU is too old.
Result<Done> openCuda(int32_t index);
//! What plans for a GPU are made for, as its driver describes it.
Target cudaTarget(int32_t index);
//! The same for programs that all GPUs of compute capability 8.0 and newer run.
Result<Target> cudaPortableTarget(int32_t index);
//! The files of NVRTC, cuBLASLt and cuDNN as they are loaded here: what has been measured holds for them.
std::string cudaLibraries();
//! Release of the library that a kernel takes one of its kernels from, "cuDNN 9.15.1"; empty for our own.
std::string cudaLibraryOf(std::string_view kernel);
//! The device "cuda", "cuda:1" and so on.
Device& cudaDevice(int32_t index);
//! Kernels of other backends, for whoever joins them, before the first device is asked for.
void addCudaKernels(std::span<CudaKernelEntry const> kernels);
//! Kernels for steps of the host, for whoever joins backends, before the first device is asked for.
void addCudaHostKernels(std::span<KernelEntry const> kernels);
//! The row-major form of a weight that this backend has packed.
Result<std::shared_ptr<Constant const>> unpackCudaWeight(
    std::string_view packing, DType type, std::vector<int64_t> extents, void const* data, size_t bytes);

} // namespace tenon
