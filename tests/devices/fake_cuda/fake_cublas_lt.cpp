// The fake cuBLASLt: products that the fake driver's streams compute on the host, with what the real library asks for:
// addresses aligned as an algorithm was told, and a workspace, which it writes.
#include "devices/fake_cuda/fake_cuda.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

namespace
{
constexpr int kSuccess{0};
constexpr int kInvalidValue{7};
constexpr int kNotSupported{15};
constexpr uint64_t kMagic{0x7E40E1A5C0B1A500};
constexpr size_t kAlgorithms{3}; //!< That it proposes at most.
constexpr int kFp8{28};          //!< E4M3.

struct Matrix
{
    int type;
    uint64_t rows, columns;
    int64_t leading;
    int32_t batch{1};
    int64_t stride{0};
};
struct Product
{
    int compute{68};
    int32_t turnedA{0}, turnedB{0};
    uint32_t epilogue{1};
    void const* bias{nullptr};
};
struct Preference
{
    uint64_t workspace{0};
    std::array<uint32_t, 4> alignments{256, 256, 256, 256};
};
struct Heuristic
{
    std::array<uint64_t, 8> algorithm;
    size_t workspace;
    int state;
    float waves;
    std::array<int, 4> reserved;
};
static_assert(sizeof(Heuristic) == 96);

//! Three bits behind the leading one; no infinities.
float realOfFp8(uint8_t bits)
{
    int const field = bits >> 3 & 15;
    float const size = field == 0 ? std::ldexp(static_cast<float>(bits & 7), -9)
                                  : std::ldexp(static_cast<float>((bits & 7) + 8), field - 10);
    return (bits & 0x7F) == 0x7F ? NAN : (bits & 0x80) != 0 ? -size : size;
}

float read(void const* data, int type, int64_t at)
{
    if (type == 0)
        return static_cast<float const*>(data)[at];
    if (type == 2)
        return static_cast<float>(static_cast<_Float16 const*>(data)[at]);
    if (type == kFp8)
        return realOfFp8(static_cast<uint8_t const*>(data)[at]);
    return std::bit_cast<float>(uint32_t{static_cast<uint16_t const*>(data)[at]} << 16);
}

void write(void* data, int type, int64_t at, float value)
{
    if (type == 0)
        static_cast<float*>(data)[at] = value;
    else if (type == 2)
        static_cast<_Float16*>(data)[at] = static_cast<_Float16>(value);
    else
    {
        auto const bits = std::bit_cast<uint32_t>(value);
        static_cast<uint16_t*>(data)[at] = static_cast<uint16_t>((bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16);
    }
}

struct Job
{
    Product product;
    Matrix a, b, d;
    void const* inA;
    void const* inB;
    void const* inC;
    void* out;
    float alpha;
    float beta;

    bool hasBias() const
    {
        return (product.epilogue & 4U) != 0;
    }
};

//! With the eleven significant digits that TF32 keeps of float32.
float operand(Product const& product, float x)
{
    if (product.compute != 77)
        return x;
    return std::bit_cast<float>((std::bit_cast<uint32_t>(x) + 0x1000U) & ~0x1FFFU);
}

float activated(uint32_t epilogue, float x)
{
    if ((epilogue & 2U) != 0)
        return std::max(x, 0.0F);
    if ((epilogue & 32U) != 0)
        return 0.5F * x * (1.0F + std::tanh(0.7978845608F * (x + 0.044715F * x * x * x)));
    return x;
}

//! Columns first, as the library counts.
void multiply(Job const& job)
{
    auto const depth = static_cast<int64_t>(job.product.turnedA != 0 ? job.a.rows : job.a.columns);
    for (int64_t z = 0; z < job.d.batch; ++z)
        for (int64_t column = 0; column < static_cast<int64_t>(job.d.columns); ++column)
            for (int64_t row = 0; row < static_cast<int64_t>(job.d.rows); ++row)
            {
                float sum{0.0F};
                for (int64_t k = 0; k < depth; ++k)
                {
                    int64_t const atA = job.product.turnedA != 0 ? k + row * job.a.leading : row + k * job.a.leading;
                    int64_t const atB =
                        job.product.turnedB != 0 ? column + k * job.b.leading : k + column * job.b.leading;
                    sum += operand(job.product, read(job.inA, job.a.type, z * job.a.stride + atA))
                        * operand(job.product, read(job.inB, job.b.type, z * job.b.stride + atB));
                }
                int64_t const at = z * job.d.stride + row + column * job.d.leading;
                float value = sum * job.alpha + (job.hasBias() ? read(job.product.bias, job.d.type, row) : 0.0F);
                if (job.beta != 0.0F)
                    value += job.beta * read(job.inC, job.d.type, at);
                write(job.out, job.d.type, at, activated(job.product.epilogue, value));
            }
}

bool isConsistent(Product const& product, Matrix const& a, Matrix const& b, Matrix const& d)
{
    uint64_t const rows = product.turnedA != 0 ? a.columns : a.rows;
    uint64_t const depthA = product.turnedA != 0 ? a.rows : a.columns;
    uint64_t const depthB = product.turnedB != 0 ? b.columns : b.rows;
    uint64_t const columns = product.turnedB != 0 ? b.rows : b.columns;
    // Of fp8 it has products whose depth is the inner axis of both, in whole sixteens, with results in half precision.
    bool const isFp8Taken = product.turnedA != 0 && product.turnedB == 0 && d.type != 0 && d.type != kFp8
        && depthA % 16 == 0 && d.rows % 16 == 0;
    return rows == d.rows && columns == d.columns && depthA == depthB && depthA > 0 && a.batch == d.batch
        && b.batch == d.batch && a.type == b.type && (a.type == kFp8 ? isFp8Taken : a.type == d.type);
}
} // namespace

#define TENON_FAKE_LT(name)                                                                                            \
    if (int const refused = tenonFakeEnter(#name); refused != 0)                                                       \
    return refused

TENON_FAKE_CUDA int cublasLtCreate(void** handle)
{
    TENON_FAKE_LT(cublasLtCreate);
    *handle = new int{0};
    return kSuccess;
}

TENON_FAKE_CUDA size_t cublasLtGetVersion()
{
    char const* const wanted = std::getenv("TENON_FAKE_CUBLASLT");
    return wanted == nullptr ? 130200 : static_cast<size_t>(std::atoi(wanted));
}

TENON_FAKE_CUDA char const* cublasLtGetStatusName(int status)
{
    return status == kInvalidValue ? "CUBLAS_STATUS_INVALID_VALUE" : "CUBLAS_STATUS_OTHER";
}

TENON_FAKE_CUDA int cublasLtMatmulDescCreate(void** product, int compute, int scale)
{
    TENON_FAKE_LT(cublasLtMatmulDescCreate);
    if ((compute != 68 && compute != 77) || scale != 0)
        return kNotSupported;
    *product = new Product{.compute = compute};
    return kSuccess;
}

TENON_FAKE_CUDA int cublasLtMatmulDescDestroy(void* product)
{
    delete static_cast<Product*>(product);
    return kSuccess;
}

TENON_FAKE_CUDA int cublasLtMatmulDescSetAttribute(void* product, int attribute, void const* value, size_t bytes)
{
    TENON_FAKE_LT(cublasLtMatmulDescSetAttribute);
    auto& own = *static_cast<Product*>(product);
    switch (attribute)
    {
    case 3: std::memcpy(&own.turnedA, value, 4); return bytes == 4 ? kSuccess : kInvalidValue;
    case 4: std::memcpy(&own.turnedB, value, 4); return bytes == 4 ? kSuccess : kInvalidValue;
    case 7: std::memcpy(&own.epilogue, value, 4); return bytes == 4 ? kSuccess : kInvalidValue;
    case 8: std::memcpy(&own.bias, value, 8); return bytes == 8 ? kSuccess : kInvalidValue;
    default: return kInvalidValue;
    }
}

TENON_FAKE_CUDA int cublasLtMatrixLayoutCreate(
    void** matrix, int type, uint64_t rows, uint64_t columns, int64_t leading)
{
    TENON_FAKE_LT(cublasLtMatrixLayoutCreate);
    if (leading < static_cast<int64_t>(rows))
        return kInvalidValue;
    *matrix = new Matrix{type, rows, columns, leading};
    return kSuccess;
}

TENON_FAKE_CUDA int cublasLtMatrixLayoutDestroy(void* matrix)
{
    delete static_cast<Matrix*>(matrix);
    return kSuccess;
}

TENON_FAKE_CUDA int cublasLtMatrixLayoutSetAttribute(void* matrix, int attribute, void const* value, size_t bytes)
{
    TENON_FAKE_LT(cublasLtMatrixLayoutSetAttribute);
    auto& own = *static_cast<Matrix*>(matrix);
    if (attribute == 5 && bytes == 4)
        std::memcpy(&own.batch, value, 4);
    else if (attribute == 6 && bytes == 8)
        std::memcpy(&own.stride, value, 8);
    else
        return kInvalidValue;
    return kSuccess;
}

TENON_FAKE_CUDA int cublasLtMatmulPreferenceCreate(void** preference)
{
    TENON_FAKE_LT(cublasLtMatmulPreferenceCreate);
    *preference = new Preference;
    return kSuccess;
}

TENON_FAKE_CUDA int cublasLtMatmulPreferenceDestroy(void* preference)
{
    delete static_cast<Preference*>(preference);
    return kSuccess;
}

TENON_FAKE_CUDA int cublasLtMatmulPreferenceSetAttribute(
    void* preference, int attribute, void const* value, size_t bytes)
{
    TENON_FAKE_LT(cublasLtMatmulPreferenceSetAttribute);
    auto& own = *static_cast<Preference*>(preference);
    if (attribute == 1 && bytes == 8)
        std::memcpy(&own.workspace, value, 8);
    else if (attribute >= 5 && attribute <= 8 && bytes == 4)
        std::memcpy(&own.alignments[static_cast<size_t>(attribute - 5)], value, 4);
    else
        return kInvalidValue;
    return kSuccess;
}

TENON_FAKE_CUDA int cublasLtMatmulAlgoGetHeuristic(
    void*, void* product, void* a, void* b, void*, void* d, void* preference, int wanted, void* results, int* count)
{
    TENON_FAKE_LT(cublasLtMatmulAlgoGetHeuristic);
    auto const& preferred = *static_cast<Preference*>(preference);
    *count = 0;
    if (wanted < 1
        || !isConsistent(*static_cast<Product*>(product), *static_cast<Matrix*>(a), *static_cast<Matrix*>(b),
            *static_cast<Matrix*>(d)))
        return kInvalidValue;
    auto* const found = static_cast<Heuristic*>(results);
    for (size_t i = 0; i < kAlgorithms && *count < wanted; ++i)
    {
        size_t const workspace = 4096 * i; // The first needs none.
        if (workspace <= preferred.workspace)
            found[(*count)++] = {{kMagic, preferred.alignments[0], workspace}, workspace, 0, 1.0F, {}};
    }
    return kSuccess;
}

TENON_FAKE_CUDA int cublasLtMatmul(void*, void* product, void const* alpha, void const* inA, void* a, void const* inB,
    void* b, void const* beta, void const* inC, void*, void* out, void* d, void const* algorithm, void* workspace,
    size_t workspaceBytes, void* stream)
{
    TENON_FAKE_LT(cublasLtMatmul);
    Job const job{*static_cast<Product*>(product), *static_cast<Matrix*>(a), *static_cast<Matrix*>(b),
        *static_cast<Matrix*>(d), inA, inB, inC, out, *static_cast<float const*>(alpha),
        *static_cast<float const*>(beta)};
    std::array<uint64_t, 3> chosen{};
    std::memcpy(chosen.data(), algorithm, sizeof chosen);
    uintptr_t const addresses = reinterpret_cast<uintptr_t>(inA) | reinterpret_cast<uintptr_t>(inB)
        | reinterpret_cast<uintptr_t>(inC) | reinterpret_cast<uintptr_t>(out)
        | reinterpret_cast<uintptr_t>(job.product.bias);
    constexpr std::array<uint32_t, 6> kEpilogues{1, 2, 4, 6, 32, 36};
    constexpr uintptr_t kWorkspaceAlignment{256}; // It looks, whatever the size.
    if (chosen[0] != kMagic || addresses % chosen[1] != 0 || chosen[2] > workspaceBytes || inC == nullptr
        || (job.beta == 0.0F && inC != out) || job.hasBias() != (job.product.bias != nullptr)
        || std::ranges::find(kEpilogues, job.product.epilogue) == kEpilogues.end()
        || (chosen[2] > 0 && workspace == nullptr) || reinterpret_cast<uintptr_t>(workspace) % kWorkspaceAlignment != 0
        || !isConsistent(job.product, job.a, job.b, job.d))
        return kInvalidValue;
    return tenonFakeEnqueue(stream, [=, used = chosen[2]] {
        if (used > 0)
            std::memset(workspace, 0x5A, used);
        multiply(job);
    });
}
