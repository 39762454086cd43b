// Determinant: rows are eliminated in double, as the reference's are; a thread for a small matrix, a block of threads
// and a copy in scratch memory for a larger one.
#include "layers/determinant.h"
#include "backends/cuda/kernel_text.h"
#include "backends/cuda/layer_kernel.h"

#include <algorithm>

namespace tenon::cuda
{

namespace
{
TENON_DEVICE_STRUCT(DeterminantParams, unsigned const* stop; void const* x; void* y; double* copies;
                    unsigned long long matrices; long long size;);

constexpr int64_t kSmallMatrix{4}; //!< kMost in the text.

constexpr char kDeterminantKernel[]{R"(
constexpr int kThreads = 256;
constexpr int kMost = 4;

//! Larger for larger sizes; the largest for what is no number, so that it is not lost. By the bits: what a GPU makes of
//! the size of such a one may have a sign.
#ifdef TENON_EMULATED
static inline i64 bitsOf(double x) { i64 bits; std::memcpy(&bits, &x, 8); return bits; }
#else
static __device__ __forceinline__ i64 bitsOf(double x) { return __double_as_longlong(x); }
#endif
static __device__ __forceinline__ i64 sizeKey(double x) { return bitsOf(x) & 0x7FFFFFFFFFFFFFFFll; }

//! Each pivot is the largest of what is left of its column, the first of equal ones.
TENON_KERNEL(smallMatrices, DeterminantParams)
{
    int const size = (int)p.size;
    for (u64 number = firstItem(); number < p.matrices; number += itemStride())
    {
        double a[kMost * kMost];
        for (int i = 0; i < size * size; ++i)
            a[i] = (double)widen(((Stored const*)p.x)[number * (u64)(size * size) + (u64)i]);
        double product = 1.0;
        for (int k = 0; k < size; ++k)
        {
            int pivot = k;
            for (int row = k + 1; row < size; ++row)
                pivot = sizeKey(a[row * size + k]) > sizeKey(a[pivot * size + k]) ? row : pivot;
            for (int column = k; column < size; ++column)
            {
                double const kept = a[k * size + column];
                a[k * size + column] = a[pivot * size + column];
                a[pivot * size + column] = kept;
            }
            double const head = a[k * size + k];
            product *= pivot != k ? -head : head;
            for (int row = k + 1; row < size && head != 0.0; ++row)
            {
                double const factor = a[row * size + k] / head;
                for (int column = k + 1; column < size; ++column)
                    a[row * size + column] -= factor * a[k * size + column];
            }
        }
        put(((Stored*)p.y)[number], (float)product);
    }
}

TENON_KERNEL(largeMatrices, DeterminantParams)
{
    i64 const size = p.size;
    double* const a = p.copies + (i64)blockIdx.x * size * size;
    for (u64 number = blockIdx.x; number < p.matrices; number += gridDim.x)
    {
        for (i64 i = threadIdx.x; i < size * size; i += kThreads)
            a[i] = (double)widen(((Stored const*)p.x)[(i64)number * size * size + i]);
        double product = 1.0;
        for (i64 k = 0; k < size; ++k)
        {
            __syncthreads();
            i64 own = -1;
            i64 ownRow = size;
            for (i64 row = k + threadIdx.x; row < size; row += kThreads)
                if (i64 const key = sizeKey(a[row * size + k]); key > own)
                {
                    own = key;
                    ownRow = row;
                }
            i64 const most = blockJoin<JoinMax>(own);
            i64 const pivot = blockJoin<JoinMin>(own == most ? ownRow : size);
            for (i64 column = k + threadIdx.x; column < size && pivot != k; column += kThreads)
            {
                double const kept = a[k * size + column];
                a[k * size + column] = a[pivot * size + column];
                a[pivot * size + column] = kept;
            }
            __syncthreads();
            double const head = a[k * size + k];
            product *= pivot != k ? -head : head;
            i64 const left = size - k - 1;
            for (i64 i = threadIdx.x; i < left * left && head != 0.0; i += kThreads)
            {
                i64 const row = k + 1 + i / left;
                i64 const column = k + 1 + i % left;
                a[row * size + column] -= a[row * size + k] / head * a[k * size + column];
            }
        }
        if (threadIdx.x == 0)
            put(((Stored*)p.y)[number], (float)product);
        __syncthreads();
    }
}
)"};

class DeterminantStep final : public CudaPrepared
{
  public:
    //! `blocks`: of large matrices, each with a copy; 0: they are small.
    DeterminantStep(DeterminantParams params, void* code, unsigned blocks)
        : mParams{params},
          mCode{code},
          mBlocks{blocks}
    {
    }
    size_t scratchBytes() const noexcept override
    {
        return mBlocks * static_cast<size_t>(mParams.size * mParams.size) * sizeof(double);
    }
    Result<Done> launch(CudaCall const& at) const override
    {
        DeterminantParams params = mParams;
        params.x = at.call.inputs[0];
        params.y = at.call.outputs[0];
        params.copies = static_cast<double*>(at.call.scratch);
        Grid const grid =
            mBlocks == 0 ? gridFor(at.device, static_cast<int64_t>(params.matrices)) : Grid{.x = mBlocks, .block = 256};
        return launchKernel(at, mCode, grid, params);
    }

  private:
    DeterminantParams mParams;
    void* mCode;
    unsigned mBlocks;
};

class DeterminantKernel final : public LayerKernel
{
  public:
    using LayerKernel::LayerKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        constexpr int64_t kMaxBlocks{1024};
        constexpr int64_t kMaxCopies{int64_t{64} << 20};
        TensorArg const& x = inputs[0];
        if (x.layout != Layout::kLinear || outputs[0].layout != Layout::kLinear)
            return badArgument("the kernel of Determinant takes row-major tensors");
        DeterminantParams params{};
        params.size = x.extents.back();
        auto const matrices = volumeOf(outputs[0].extents);
        params.matrices = static_cast<uint64_t>(matrices);
        Module const& module = *TENON_TRY(moduleOf(device(),
            wholeText(std::string{kDeterminantParamsText}
                + fmt::format("typedef {} Stored;\n", TENON_TRY(storageOf(x.dtype))) + kDeterminantKernel)));
        bool const isSmall = params.size <= kSmallMatrix;
        int64_t const room = kMaxCopies / std::max<int64_t>(params.size * params.size * int64_t{sizeof(double)}, 1);
        int64_t const blocks = isSmall ? 0 : std::min({std::max<int64_t>(room, 1), matrices, kMaxBlocks});
        void* const code = TENON_TRY(module.function(isSmall ? "smallMatrices" : "largeMatrices"));
        return std::shared_ptr<Prepared const>{
            std::make_shared<DeterminantStep>(params, code, static_cast<unsigned>(blocks))};
    }
};

std::variant<std::vector<Offer>, Refusal> offersOfDeterminant(Problem const& problem)
{
    if (!kRealTypes.has(problem.output().dtype))
        return refuse("pivots", fmt::format("elements of {}", nameOf(problem.output().dtype)));
    std::vector<int64_t> const extents = problem.typicalExtents(problem.input(0));
    auto const work = static_cast<double>(volumeOf(extents)) * static_cast<double>(extents.back()) / 3.0;
    Offer offer;
    offer.inputs = {Layout::kLinear};
    offer.outputs = {Layout::kLinear};
    offer.cost = costOf(problem, 8.0 * work, bytesOf(problem));
    return std::vector<Offer>{std::move(offer)};
}

Result<KernelSpec> buildDeterminant(Problem const& problem, Offer const& offer)
{
    return KernelSpec{.kernel = "determinant", .args = encodeLayerArgs(problem, offer), .packed = {}};
}

constexpr Candidate kDeterminantCandidates[]{
    {.layer = Determinant::kName, .name = "pivots", .offers = offersOfDeterminant, .build = buildDeterminant}};
constexpr CudaKernelEntry kDeterminantKernels[]{{"determinant", &loadLayerKernel<DeterminantKernel>}};
} // namespace

} // namespace tenon::cuda

TENON_CUDA_KERNELS(Determinant, kDeterminantCandidates, kDeterminantKernels);
