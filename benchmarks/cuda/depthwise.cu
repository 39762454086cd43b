// C functions over device/depthwise.cuh.
#include "device/depthwise.cuh"
#include "launch.cuh"

using namespace tenon::cuda;

namespace
{

using Kernel = void (*)(DepthwiseProblem);

template <int Size, int Stride, int Vector>
Kernel windowKernel(int columns)
{
    if (columns == 1)
        return depthwiseWindow<Size, Stride, 1, Vector>;
    return columns == 2 ? depthwiseWindow<Size, Stride, 2, Vector> : nullptr;
}

template <int Size, int Stride, int Vector>
Kernel slidingKernel(int columns)
{
    switch (columns)
    {
    case 2: return depthwiseSliding<Size, Stride, 2, Vector>;
    case 4: return depthwiseSliding<Size, Stride, 4, Vector>;
    case 7: return Vector == 2 ? depthwiseSliding<Size, Stride, 7, 2> : nullptr;
    default: return nullptr;
    }
}

template <int Size, int Stride>
Kernel kernelOf(bool sliding, int columns, int vector)
{
    if (!sliding)
        return vector == 2 ? windowKernel<Size, Stride, 2>(columns) : windowKernel<Size, Stride, 4>(columns);
    if (vector == 2)
        return slidingKernel<Size, Stride, 2>(columns);
    if constexpr (Size == 3)
        return slidingKernel<Size, Stride, 4>(columns);
    return nullptr;
}

Kernel kernelFor(int size, int stride, bool sliding, int columns, int vector)
{
    if (size == 3)
        return stride == 1 ? kernelOf<3, 1>(sliding, columns, vector) : kernelOf<3, 2>(sliding, columns, vector);
    return stride == 1 ? kernelOf<5, 1>(sliding, columns, vector) : kernelOf<5, 2>(sliding, columns, vector);
}

} // namespace

// Strips of `columns` outputs, `vector` channels wide; blocks of `lanes` times `strips` threads.
TENON_BENCHMARK_FUNCTION int tenonDepthwise(DepthwiseProblem const* problem, int batch, int size, int stride,
    int sliding, int columns, int vector, int lanes, int strips, int dependent, cudaStream_t stream)
{
    DepthwiseProblem const& p = *problem;
    const Kernel kernel = kernelFor(size, stride, sliding != 0, columns, vector);
    if (!kernel || p.channels % vector != 0 || lanes * strips > 128 || (sliding == 0 && p.rows != 1))
        return cudaErrorInvalidValue;
    int const across = (p.outWidth + columns - 1) / columns;
    int const down = (p.outHeight + p.rows - 1) / p.rows;
    Launch how;
    how.block = dim3(lanes, strips);
    how.grid = dim3((p.channels / vector + lanes - 1) / lanes, (across * down + strips - 1) / strips, batch);
    how.dependent = dependent != 0;
    how.stream = stream;
    return launch(kernel, how, p);
}
