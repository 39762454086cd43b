// Element types: the table of names and sizes.
#include "base/dtype.h"

namespace tenon
{

std::string_view nameOf(DType type) noexcept
{
    switch (type)
    {
    case DType::kFLOAT: return "float32";
    case DType::kHALF: return "float16";
    case DType::kINT8: return "int8";
    case DType::kINT32: return "int32";
    case DType::kBOOL: return "bool";
    case DType::kUINT8: return "uint8";
    case DType::kFP8: return "fp8";
    case DType::kBF16: return "bfloat16";
    case DType::kINT64: return "int64";
    case DType::kINT4: return "int4";
    case DType::kFP4: return "fp4";
    case DType::kE8M0: return "e8m0";
    }
    return type == kFloat64 ? "float64" : "unknown";
}

int32_t bitsOf(DType type) noexcept
{
    switch (type)
    {
    case DType::kFLOAT:
    case DType::kINT32: return 32;
    case DType::kHALF:
    case DType::kBF16: return 16;
    case DType::kINT64: return 64;
    case DType::kINT4:
    case DType::kFP4: return 4;
    case DType::kINT8:
    case DType::kBOOL:
    case DType::kUINT8:
    case DType::kFP8:
    case DType::kE8M0: return 8;
    }
    return type == kFloat64 ? 64 : 0;
}

int64_t bytesOf(DType type, int64_t count) noexcept
{
    int64_t bits{0};
    if (__builtin_mul_overflow(count, int64_t{bitsOf(type)}, &bits) || __builtin_add_overflow(bits, 7, &bits))
        return INT64_MAX;
    return bits / 8;
}

} // namespace tenon
