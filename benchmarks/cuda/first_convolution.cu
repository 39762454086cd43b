// C functions over device/first_convolution.cuh.
#include "device/first_convolution.cuh"
#include "launch.cuh"

using namespace tenon::cuda;

namespace
{

template <int Size, int Channels, int MTiles, int BlocksPerSm>
cudaError_t launchFirst(FirstConvolutionProblem const& p, Launch how, int multiprocessors)
{
    using Tile = FirstTile<Size, Channels, MTiles>;
    int const across = (p.outWidth + Tile::kColumns - 1) / Tile::kColumns;
    int const down = (p.outHeight + Tile::kRows - 1) / Tile::kRows;
    int const tiles = across * down * p.batch;
    int const resident = multiprocessors * BlocksPerSm;
    how.grid = dim3(tiles < resident ? tiles : resident);
    how.block = dim3(128);
    how.sharedBytes = Tile::kSharedBytes;
    return launch(firstConvolution<Size, Channels, MTiles, BlocksPerSm>, how, p, tiles);
}

template <int Size, int Channels>
cudaError_t ofShape(FirstConvolutionProblem const& p, Launch const& how, int shape, int multiprocessors)
{
    switch (shape)
    {
    case 0: return launchFirst<Size, Channels, 1, 4>(p, how, multiprocessors);
    case 1: return launchFirst<Size, Channels, 1, 5>(p, how, multiprocessors);
    case 2: return launchFirst<Size, Channels, 2, 3>(p, how, multiprocessors);
    case 3: return launchFirst<Size, Channels, 2, 4>(p, how, multiprocessors);
    default: return cudaErrorInvalidValue;
    }
}

} // namespace

// `shape` numbers the instances above: rows of each warp, blocks on a multiprocessor.
TENON_BENCHMARK_FUNCTION int tenonFirstConvolution(FirstConvolutionProblem const* problem, int size, int channels,
    int shape, int multiprocessors, int dependent, cudaStream_t stream)
{
    Launch how;
    how.dependent = dependent != 0;
    how.stream = stream;
    if (problem->width * 6 % 16 != 0)
        return cudaErrorInvalidValue;
    if (size == 7 && channels == 64)
        return ofShape<7, 64>(*problem, how, shape, multiprocessors);
    if (size == 3 && channels == 32)
        return ofShape<3, 32>(*problem, how, shape, multiprocessors);
    return cudaErrorInvalidValue;
}
