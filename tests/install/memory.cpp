// Host calls of the CUDA runtime: memory in and out, and the version that the headers have.
#include <cstdio>
#include <cuda_runtime.h>

int main()
{
    int* memory = nullptr;
    int value = 0;
    int version = 0;
    if (cudaMallocManaged(&memory, 64) != cudaSuccess || cudaMemset(memory, 1, 64) != cudaSuccess)
        return 1;
    if (cudaMemcpy(&value, memory + 3, sizeof(value), cudaMemcpyDefault) != cudaSuccess)
        return 2;
    if (cudaRuntimeGetVersion(&version) != cudaSuccess || version != CUDART_VERSION)
        return 3;
    std::printf("%x\n", value);
    return cudaFree(memory);
}
