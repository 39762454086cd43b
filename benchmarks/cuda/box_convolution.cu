// C functions over device/box_convolution.cuh.
#include "device/box_convolution.cuh"
#include "launch.cuh"

using namespace tenon::cuda;

namespace
{

using Encode = CUresult (*)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, cuuint64_t const*, cuuint64_t const*,
    cuuint32_t const*, cuuint32_t const*, CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion,
    CUtensorMapFloatOOBfill);

Encode encoder()
{
    static Encode const found = [] {
        void* address = nullptr;
        cudaDriverEntryPointQueryResult result;
        cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &address, 12000, cudaEnableDefault, &result);
        return reinterpret_cast<Encode>(address);
    }();
    return found;
}

bool encode(CUtensorMap& map, ConvolutionSource const& source, int batch, int width, int height)
{
    cuuint64_t const row = static_cast<cuuint64_t>(source.channels) * 2;
    cuuint64_t const extents[4] = {static_cast<cuuint64_t>(source.channels), static_cast<cuuint64_t>(source.width),
        static_cast<cuuint64_t>(source.height), static_cast<cuuint64_t>(batch)};
    cuuint64_t const pitches[3] = {row, row * source.width, row * source.width * source.height};
    cuuint32_t const stride = static_cast<cuuint32_t>(source.stride);
    cuuint32_t const box[4] = {64, (width - 1) * stride + 1, (height - 1) * stride + 1, 1};
    cuuint32_t const steps[4] = {1, stride, stride, 1};
    return encoder()
        && encoder()(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 4, const_cast<__half*>(source.data), extents, pitches, box,
               steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
               CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE)
        == CUDA_SUCCESS;
}

template <int Pixels, int Stages>
cudaError_t launchBox(ConvolutionProblem const& p, BoxTiling const& tiling, Launch how)
{
    how.grid = dim3(how.cluster, (p.outChannels + 63) / 64, tiling.across * tiling.down * p.batch);
    how.block = dim3(128);
    how.sharedBytes = BoxTile<Pixels, Stages>::sharedBytes(how.cluster);
    return launch(boxConvolution<Pixels, Stages>, how, p, tiling);
}

} // namespace

// Tiles of `width` by `height` outputs in `pixels` columns of a product; `cluster` blocks share the products of a sum.
TENON_BENCHMARK_FUNCTION int tenonBoxConvolution(ConvolutionProblem const* problem, int pixels, int width, int height,
    int cluster, int dependent, cudaStream_t stream)
{
    ConvolutionProblem const& p = *problem;
    if (width * height > pixels || p.slices < cluster || (p.sources[0].kernel != 1 && p.sources[0].kernel != 3))
        return cudaErrorInvalidValue;
    BoxTiling tiling;
    tiling.width = width;
    tiling.height = height;
    tiling.across = (p.outWidth + width - 1) / width;
    tiling.down = (p.outHeight + height - 1) / height;
    tiling.perWidth = (65536 + width - 1) / width;
    if (!encode(tiling.maps[0], p.sources[0], p.batch, width, height))
        return cudaErrorInvalidValue;
    tiling.maps[1] = tiling.maps[0];
    if (p.sources[1].channels != 0 && !encode(tiling.maps[1], p.sources[1], p.batch, width, height))
        return cudaErrorInvalidValue;
    Launch how;
    how.cluster = cluster;
    how.dependent = dependent != 0;
    how.stream = stream;
    switch (pixels)
    {
    case 32: return launchBox<32, 7>(p, tiling, how);
    case 40: return launchBox<40, 6>(p, tiling, how);
    case 56: return launchBox<56, 5>(p, tiling, how);
    case 64: return launchBox<64, 5>(p, tiling, how);
    case 112: return launchBox<112, 4>(p, tiling, how);
    default: return cudaErrorInvalidValue;
    }
}
