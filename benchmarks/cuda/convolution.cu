// C functions over device/convolution.cuh and device/pooling.cuh.
#include "device/convolution.cuh"
#include "device/pooling.cuh"
#include "launch.cuh"

using namespace tenon::cuda;

namespace
{

template <class Tile>
cudaError_t launchTile(ConvolutionProblem const& p, Launch how)
{
    if (p.slices < how.cluster || Tile::kRows % how.cluster != 0)
        return cudaErrorInvalidValue;
    how.grid = dim3(
        how.cluster, (p.outChannels + Tile::kColumns - 1) / Tile::kColumns, (p.pixels + Tile::kRows - 1) / Tile::kRows);
    how.block = dim3(Tile::kThreads);
    how.sharedBytes = Tile::kSharedBytes;
    return launch(implicitConvolution<Tile>, how, p);
}

cudaError_t ofTile(ConvolutionProblem const& p, Launch const& how, int tile)
{
    switch (tile)
    {
    case 0: return launchTile<ConvolutionTile<32, 64, 2, 2, 4>>(p, how);
    case 1: return launchTile<ConvolutionTile<32, 64, 2, 2, 8>>(p, how);
    case 2: return launchTile<ConvolutionTile<64, 32, 4, 1, 8>>(p, how);
    case 3: return launchTile<ConvolutionTile<64, 64, 2, 2, 4>>(p, how);
    case 4: return launchTile<ConvolutionTile<64, 64, 4, 2, 4>>(p, how);
    default: return cudaErrorInvalidValue;
    }
}

} // namespace

// `tile` numbers the instances above: rows, columns, warps down and across, stages. `cluster` blocks share the
// products.
TENON_BENCHMARK_FUNCTION int tenonConvolution(
    ConvolutionProblem const* problem, int tile, int cluster, int dependent, cudaStream_t stream)
{
    Launch how;
    how.cluster = cluster;
    how.dependent = dependent != 0;
    how.stream = stream;
    return ofTile(*problem, how, tile);
}

TENON_BENCHMARK_FUNCTION int tenonMaxPool(PoolingProblem const* problem, int dependent, cudaStream_t stream)
{
    PoolingProblem const& p = *problem;
    Launch how;
    how.block = dim3(128);
    how.grid = dim3((p.batch * p.outHeight * p.outWidth * (p.channels / 8) + 127) / 128);
    how.dependent = dependent != 0;
    how.stream = stream;
    return launch(maxPool, how, p);
}

TENON_BENCHMARK_FUNCTION int tenonAveragePool(PoolingProblem const* problem, int dependent, cudaStream_t stream)
{
    PoolingProblem const& p = *problem;
    if (p.channels % 64 != 0)
        return cudaErrorInvalidValue;
    Launch how;
    how.block = dim3(8, 16);
    how.grid = dim3(p.channels / 64, p.batch);
    how.dependent = dependent != 0;
    how.stream = stream;
    return launch(averagePool, how, p);
}
