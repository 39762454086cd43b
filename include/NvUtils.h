//! \file
//! Reorders weights in host memory, as 8.x offered it.

#ifndef NV_UTILS_H
#define NV_UTILS_H

#include "NvInfer.h"
#include <cstring>
#include <utility>

namespace nvinfer1
{
namespace utils
{
//! \return the bytes of one element, 0 for types that fill less than a byte.
inline size_t bytesPerElement(DataType type) noexcept
{
    switch (type)
    {
    case DataType::kINT64: return 8;
    case DataType::kFLOAT:
    case DataType::kINT32: return 4;
    case DataType::kHALF:
    case DataType::kBF16: return 2;
    case DataType::kINT8:
    case DataType::kBOOL:
    case DataType::kUINT8:
    case DataType::kFP8:
    case DataType::kE8M0: return 1;
    case DataType::kINT4:
    case DataType::kFP4: break;
    }
    return 0;
}

//! Copies a dense tensor with its axes in another order.
//! \param input the tensor, row-major.
//! \param shape its extents.
//! \param shapeOrder axis i of the result is axis shapeOrder[i] of the input.
//! \param data receives the result and must not overlap the input.
//! \param nbDims the rank, 1 to Dims::MAX_DIMS.
//! \return false when an argument is null, the order is not a permutation, or the extents do not give input.count.
TRT_DEPRECATED inline bool reshapeWeights(
    Weights const& input, int32_t const* shape, int32_t const* shapeOrder, void* data, int32_t nbDims) noexcept
{
    size_t const bytes = bytesPerElement(input.type);
    if (input.values == nullptr || shape == nullptr || shapeOrder == nullptr || data == nullptr || bytes == 0
        || nbDims < 1 || nbDims > Dims::MAX_DIMS)
    {
        return false;
    }
    int64_t strides[Dims::MAX_DIMS]{};
    int64_t count{1};
    for (int32_t i = nbDims - 1; i >= 0; --i)
    {
        strides[i] = count;
        count *= shape[i];
    }
    uint32_t seen{0};
    for (int32_t i = 0; i < nbDims; ++i)
    {
        seen |= shapeOrder[i] >= 0 && shapeOrder[i] < nbDims ? 1U << shapeOrder[i] : 0U;
    }
    if (count != input.count || seen != (1U << nbDims) - 1U)
    {
        return false;
    }
    char const* const from = static_cast<char const*>(input.values);
    char* const to = static_cast<char*>(data);
    for (int64_t i = 0; i < count; ++i)
    {
        int64_t rest{i};
        int64_t source{0};
        for (int32_t axis = nbDims - 1; axis >= 0; --axis)
        {
            int64_t const extent = shape[shapeOrder[axis]];
            source += rest % extent * strides[shapeOrder[axis]];
            rest /= extent;
        }
        std::memcpy(to + static_cast<size_t>(i) * bytes, from + static_cast<size_t>(source) * bytes, bytes);
    }
    return true;
}

//! Puts the equal parts of a buffer into another order, in place.
//! \param input the buffer of num * size bytes.
//! \param order part i of the result is part order[i] of the input.
//! \param num the number of parts.
//! \param size the bytes of one part.
//! \return false when an argument is null or negative, or the order is not a permutation; then nothing has changed.
TRT_DEPRECATED inline bool reorderSubBuffers(void* input, int32_t const* order, int32_t num, int32_t size) noexcept
{
    if (input == nullptr || order == nullptr || num < 0 || size < 0)
    {
        return false;
    }
    for (int32_t i = 0; i < num; ++i)
    {
        bool isThere{false};
        for (int32_t k = 0; k < num; ++k)
        {
            isThere = isThere || order[k] == i;
        }
        if (!isThere)
        {
            return false;
        }
    }
    char* const bytes = static_cast<char*>(input);
    for (int32_t i = 0; i < num; ++i)
    {
        // Where part order[i] is by now: a part in front of i was swapped to the place that its own part came from.
        int32_t from{order[i]};
        while (from < i)
        {
            from = order[from];
        }
        for (int32_t k = 0; from != i && k < size; ++k)
        {
            std::swap(bytes[static_cast<size_t>(i) * static_cast<size_t>(size) + static_cast<size_t>(k)],
                bytes[static_cast<size_t>(from) * static_cast<size_t>(size) + static_cast<size_t>(k)]);
        }
    }
    return true;
}

//! Transposes each of num row-major matrices of height x width in place.
//! \param input the matrices, one behind the other.
//! \param type the type of their elements.
//! \return false when input is null, a number is negative, or elements of the type do not fill whole bytes.
TRT_DEPRECATED inline bool transposeSubBuffers(
    void* input, DataType type, int32_t num, int32_t height, int32_t width) noexcept
{
    size_t const bytes = bytesPerElement(type);
    if (input == nullptr || bytes == 0 || num < 0 || height < 0 || width < 0)
    {
        return false;
    }
    int64_t const count = static_cast<int64_t>(height) * width;
    for (int64_t matrix = 0; matrix < num; ++matrix)
    {
        char* const base = static_cast<char*>(input) + static_cast<size_t>(matrix * count) * bytes;
        for (int64_t i = 0; i < count; ++i)
        {
            // Element i of the result; the chain of sources leads past those that were swapped away already.
            int64_t from{i};
            do
            {
                from = from % height * width + from / height;
            } while (from < i);
            for (size_t k = 0; from != i && k < bytes; ++k)
            {
                std::swap(base[static_cast<size_t>(i) * bytes + k], base[static_cast<size_t>(from) * bytes + k]);
            }
        }
    }
    return true;
}
} // namespace utils
} // namespace nvinfer1

#endif // NV_UTILS_H
