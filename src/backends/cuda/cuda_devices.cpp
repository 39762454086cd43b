// The GPUs of this machine: how many there are, what they are like, and their devices.
#include "backends/cuda/convolution_shape.h"
#include "backends/cuda/cublas_lt.h"
#include "backends/cuda/cuda.h"
#include "backends/cuda/cudnn.h"
#include "backends/cuda/kernel_table.h"
#include "backends/cuda/nvrtc.h"
#include "backends/cuda/wrapped_table.h"
#include "base/kept_file.h"
#include "device/cuda/cuda_device.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>

namespace tenon
{

namespace
{
struct Devices
{
    std::mutex mutex;
    std::map<int32_t, std::unique_ptr<CudaDevice>> all;
    std::vector<CudaKernelEntry> kernels;
    std::vector<KernelEntry> hostKernels;
};

Devices& devices()
{
    static auto* const instance = new Devices; // Never destroyed: streams may work on while the process ends.
    return *instance;
}

//! A GPU that the driver does not describe: probeCuda() has said so.
CudaModel modelOf(int32_t index)
{
    Result<cuda::DriverApi const*> const api = cuda::driver();
    Result<CudaModel> model = api ? cudaModel(**api, index) : Result<CudaModel>{api.error()};
    return model ? *std::move(model) : CudaModel{.major = 8};
}
} // namespace

Result<int32_t> probeCuda()
{
    cuda::DriverApi const& api = *TENON_TRY(cuda::driver());
    int count{0};
    TENON_CUDA_TRY(api, cuDeviceGetCount, &count);
    if (count == 0)
        return errorOf(ErrorCode::kUNSUPPORTED_STATE, "there is an NVIDIA driver, but no GPU that it shows");
    static_cast<void>(TENON_TRY(cuda::nvrtc()));
    return count;
}

std::optional<int32_t> currentCuda()
{
    Result<cuda::DriverApi const*> const driver = cuda::driver();
    if (!driver)
        return std::nullopt;
    cuda::DriverApi const& api = **driver;
    int count{0};
    int current{0};
    if (api.cuCtxGetDevice(&current) != cuda::kSuccess || api.cuDeviceGetCount(&count) != cuda::kSuccess)
        return std::nullopt;
    for (int32_t ordinal = 0; ordinal < count; ++ordinal)
        if (int device{0}; api.cuDeviceGet(&device, ordinal) == cuda::kSuccess && device == current)
            return ordinal;
    return std::nullopt;
}

Result<Done> openCuda(int32_t index)
{
    return static_cast<CudaDevice&>(cudaDevice(index)).alive();
}

std::string cudaLibraries()
{
    std::string files;
    auto const add = [&](void const* address) {
        files += fmt::format("{}{}", files.empty() ? "" : ", ", loadedFileAt(address));
    };
    if (auto const driver = cuda::driver()) // Whose release is in the file's name.
        add(reinterpret_cast<void const*>((*driver)->cuInit));
    if (auto const compiler = cuda::nvrtc())
        add(reinterpret_cast<void const*>((*compiler)->nvrtcVersion));
    if (auto const products = cuda::cublasLt())
        add(reinterpret_cast<void const*>((*products)->cublasLtCreate));
    if (auto const networks = cuda::cudnn())
        add(reinterpret_cast<void const*>((*networks)->cudnnCreate));
    return files;
}

std::string cudaLibraryOf(std::string_view kernel)
{
    auto const shown = [](std::string_view name, size_t release) {
        return fmt::format("{} {}.{}.{}", name, release / 10000, release / 100 % 100, release % 100);
    };
    // What falls back to products of the library's, by a tactic that counts its proposals, too.
    constexpr std::array<std::string_view, 6> kWithProducts{"patch_convolution", "image_patches", "patch_embedding",
        "gated_convolution", "measured_product", "normalized_product"};
    if (kernel.starts_with("cudnn_"))
        if (auto const networks = cuda::cudnn())
            return shown("cuDNN", (*networks)->cudnnGetVersion());
    if (kernel.starts_with("cublaslt_") || std::ranges::find(kWithProducts, kernel) != kWithProducts.end())
        if (auto const products = cuda::cublasLt())
            return shown("cuBLASLt", (*products)->cublasLtGetVersion());
    return {};
}

Device& cudaDevice(int32_t index)
{
    static cuda::DriverApi const kNoDriver{};
    std::scoped_lock const lock{devices().mutex};
    std::unique_ptr<CudaDevice>& device = devices().all[index];
    if (device == nullptr)
    {
        Result<cuda::DriverApi const*> const api = cuda::driver();
        device = std::make_unique<CudaDevice>(api ? **api : kNoDriver, index);
        for (cuda::KernelFile const& file : cuda::allKernelFiles())
            device->add(file.kernels);
        device->add(devices().kernels);
        device->addHostKernels(devices().hostKernels);
    }
    return *device;
}

void addCudaKernels(std::span<CudaKernelEntry const> kernels)
{
    std::scoped_lock const lock{devices().mutex};
    devices().kernels.insert(devices().kernels.end(), kernels.begin(), kernels.end());
    for (auto const& [index, device] : devices().all) // A probe has opened one already.
        device->add(kernels);
}

void addCudaHostKernels(std::span<KernelEntry const> kernels)
{
    std::scoped_lock const lock{devices().mutex};
    devices().hostKernels.insert(devices().hostKernels.end(), kernels.begin(), kernels.end());
    for (auto const& [index, device] : devices().all) // A probe has opened one already.
        device->addHostKernels(kernels);
}

namespace
{
//! Rates are rough: a tenth of a multiprocessor's peak for arithmetic, and memory of the kind that such GPUs have.
Target targetOfModel(CudaModel const& model)
{
    Target target;
    target.device = "cuda";
    target.architecture = model.architecture();
    target.bindsPrograms = true;
    target.limits.alignment = 256;
    target.limits.auxStreams = 0; // What forks and meets does not overlap: long kernels lose more than short ones gain.
    double const bytesPerMicrosecond = model.major >= 9 ? 2e6 : model.major >= 8 ? 8e5 : 3e5;
    target.rates = {.startMicroseconds = 3.0,
        .multiplicationsPerMicrosecond = 1e4 * model.multiprocessors,
        .bytesPerMicrosecond = bytesPerMicrosecond,
        .fastTypes = {DType::kHALF, DType::kBF16},
        .hasTf32 = model.major >= 8};
    target.reorder = {.startMicroseconds = 3.0, .bytesPerMicrosecond = bytesPerMicrosecond / 4};
    target.transfer = {.startMicroseconds = 15.0, .bytesPerMicrosecond = 1.2e4};
    target.hasOwnMemory = true;
    target.layouts = {Layout::kLinear, Layout::kChannelsLast};
    target.fusion = {.epilogueSteps = 4,
        .epilogueTypes = {DType::kFLOAT, DType::kHALF, DType::kBF16},
        .pointwiseInputs = 8,
        .pointwiseOperations = 48};
    target.fusion.embeddingTypes = {DType::kFLOAT, DType::kHALF, DType::kBF16};
    target.fusion.embeddingWidth = 8192; // What a block's threads hold in registers, element by element.
    target.fusion.embeddingTerms = 4;
    target.fusion.attentionTypes = model.major >= 8 ? TypeSet{DType::kHALF, DType::kBF16} : TypeSet{DType::kHALF};
    target.fusion.projectionTypes = target.fusion.attentionTypes;
    target.fusion.gateTypes = target.fusion.attentionTypes;
    target.fusion.gateChannels = model.major >= 8 ? 4096 : 1024; // What fits into shared memory.
    if (model.major >= 8)                                        // What one kernel has in registers and shared memory.
    {
        target.fusion.imageTypes = {DType::kHALF, DType::kBF16};
        target.fusion.imageChannels = 4;
        target.fusion.imageWindow = 8;
        target.fusion.imageStride = 4;
        target.fusion.imagePool = 4;
        target.fusion.imagePatch = 8;
    }
    if (model.major == 9) // Early and large tiles.
    {
        target.fusion.summedTypes = {DType::kHALF, DType::kBF16};
        target.fusion.summedChannels = 64;
        target.fusion.summedColumns = 8;
        target.fusion.summedStride = 8;
        target.fusion.summedElements = std::numeric_limits<int32_t>::max();
        target.fusion.normalizedTypes = {DType::kHALF, DType::kBF16};
        target.fusion.normalizedRows = 256;
        target.fusion.measuredRows = 256;
        target.fusion.measuredColumns = 8192; // Of which early tiles are two for each multiprocessor.
        target.fusion.leastNormalizedRows = 17;
        target.fusion.normalizedDepth = 64;
        target.fusion.normalizedColumns = 8;
    }
    if (model.major >= 8) // Tensor cores for int8, and for fp8 from Hopper on.
    {
        target.rates.fastTypes = {DType::kHALF, DType::kBF16, DType::kINT8};
        target.fusion.int8Steps = 6;
        target.fusion.quantizedTypes = model.major >= 9 ? TypeSet{DType::kINT8, DType::kFP8} : TypeSet{DType::kINT8};
        target.fusion.quantizedResults = {DType::kFLOAT, DType::kHALF, DType::kBF16};
        target.fusion.quantizedGrain = 16;
    }
    return target;
}
} // namespace

Target cudaTarget(int32_t index)
{
    return targetOfModel(modelOf(index));
}

Result<Target> cudaPortableTarget(int32_t index)
{
    constexpr int32_t kAmpere{8};
    CudaModel model = modelOf(index);
    if (model.major < kAmpere)
        return badConfig(
            "HardwareCompatibilityLevel::kAMPERE_PLUS: this GPU is of {}, which is older", model.architecture());
    model.major = kAmpere;
    model.minor = 0;
    return targetOfModel(model);
}

Result<std::shared_ptr<Constant const>> unpackCudaWeight(
    std::string_view packing, DType type, std::vector<int64_t> extents, void const* data, size_t bytes)
{
    if (packing == cuda::kFilterPacking || packing == cuda::kMatrixPacking)
        return cuda::unpackTurned(packing, type, std::move(extents), data, bytes);
    if (packing == cuda::kTablePacking)
        return cuda::unpackTable(type, std::move(extents), data, bytes);
    return badArgument("the CUDA backend knows no packing '{}' of a weight", packing);
}

} // namespace tenon
