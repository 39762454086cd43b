// C functions over device/depthwise_matrix.cuh.
#include "device/depthwise_matrix.cuh"
#include "launch.cuh"

using namespace tenon::cuda;

// Blocks of `slices` times eight channels, `columns` times eight columns and `rows` rows of output.
TENON_BENCHMARK_FUNCTION int tenonDepthwiseMatrix(DepthwiseProblem const* problem, int batch, int size, int stride,
    int slices, int columns, int rows, int dependent, cudaStream_t stream)
{
    DepthwiseProblem const& p = *problem;
    if (p.channels % 8 != 0 || slices * columns > 8 || rows % 2 != 0)
        return cudaErrorInvalidValue;
    DepthwiseTiling tiling;
    tiling.rows = rows;
    tiling.inputRows = (rows - 1) * stride + size;
    tiling.inputColumns = (columns * 8 - 1) * stride + size;
    tiling.planeBytes = (tiling.inputRows * tiling.inputColumns | 1) * 16;
    int const across = (p.outWidth + columns * 8 - 1) / (columns * 8);
    int const down = (p.outHeight + rows - 1) / rows;
    Launch how;
    how.block = dim3(32, slices, columns);
    how.grid = dim3((p.channels / 8 + slices - 1) / slices, across * down, batch);
    how.sharedBytes = slices * tiling.planeBytes + rows * columns * 8 * (slices + 1) * 16;
    how.dependent = dependent != 0;
    how.stream = stream;
    if (how.sharedBytes > 227 * 1024)
        return cudaErrorInvalidValue;
    if (size == 3)
        return launch(stride == 1 ? depthwiseMatrix<3, 1> : depthwiseMatrix<3, 2>, how, p, tiling);
    return launch(stride == 1 ? depthwiseMatrix<5, 1> : depthwiseMatrix<5, 2>, how, p, tiling);
}
