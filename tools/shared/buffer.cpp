// Buffer: memory, and contents.
#include "buffer.h"

#include "elements.h"
#include "tenon/host.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <random>
#include <stdexcept>

namespace tenon::cli
{

using nvinfer1::DataType;

namespace
{
std::string gibibytes(uint64_t bytes)
{
    char text[48];
    std::snprintf(text, sizeof(text), "%.1f GiB", static_cast<double>(bytes) / (1ULL << 30));
    return text;
}
} // namespace

Buffer::Buffer(std::string const& tensor, std::optional<size_t> bytes)
{
    if (!bytes)
        throw std::runtime_error(tensor + " has more bytes than can be counted");
    void* memory{nullptr};
    if (tenonHostAllocate(&memory, std::max<size_t>(*bytes, 1), TENON_HOST_DEVICE, 0) != TENON_HOST_OK)
    {
        uint64_t free{0};
        uint64_t total{0};
        tenonHostMemoryInfo(&free, &total);
        throw std::runtime_error(tensor + " takes " + std::to_string(*bytes) + " bytes (" + gibibytes(*bytes)
            + "), and of the machine's " + gibibytes(total) + " of memory " + gibibytes(free)
            + " are free; try a smaller shape by --shapes");
    }
    mMemory.reset(static_cast<char*>(memory));
    mSize = *bytes;
    std::fill_n(mMemory.get(), std::max<size_t>(mSize, 1), '\0');
}

void Buffer::Free::operator()(char* memory) const noexcept
{
    tenonHostFree(memory);
}

void fillRandom(std::span<char> buffer, DataType type, uint32_t seed)
{
    std::mt19937 generator{seed};
    std::normal_distribution<float> normal;
    std::uniform_int_distribution<int32_t> small{0, 99};
    if (type == DataType::kFLOAT)
        for (size_t i = 0; i + 4 <= buffer.size(); i += 4)
        {
            float const value = normal(generator);
            std::memcpy(&buffer[i], &value, 4);
        }
    else if (type == kFloat64)
        for (size_t i = 0; i + 8 <= buffer.size(); i += 8)
        {
            auto const value = static_cast<double>(normal(generator));
            std::memcpy(&buffer[i], &value, 8);
        }
    else if (type == DataType::kINT32 || type == DataType::kINT64)
    {
        size_t const size = type == DataType::kINT32 ? 4 : 8;
        for (size_t i = 0; i + size <= buffer.size(); i += size)
        {
            int64_t const value = small(generator);
            std::memcpy(&buffer[i], &value, size);
        }
    }
    else if (type == DataType::kBOOL)
        for (char& byte : buffer)
            byte = static_cast<char>(small(generator) % 2);
    else if (type == DataType::kBF16) // The upper half of a float.
        for (size_t i = 0; i + 2 <= buffer.size(); i += 2)
        {
            float const value = normal(generator);
            std::memcpy(&buffer[i], reinterpret_cast<char const*>(&value) + 2, 2);
        }
    else if (type == DataType::kHALF)
        for (size_t i = 0; i + 2 <= buffer.size(); i += 2)
        {
            auto const value = static_cast<_Float16>(normal(generator));
            std::memcpy(&buffer[i], &value, 2);
        }
    else
        for (char& byte : buffer)
            byte = static_cast<char>(small(generator) % 16);
}

void fillFromProfile(std::span<char> buffer, nvinfer1::ICudaEngine const& engine, char const* name, int32_t profile)
{
    int64_t const* const values = engine.getProfileTensorValuesV2(name, profile, nvinfer1::OptProfileSelector::kOPT);
    if (values == nullptr)
        return;
    DataType const type = engine.getTensorDataType(name);
    size_t const size = type == DataType::kINT64 ? 8 : type == DataType::kBOOL ? 1 : 4;
    for (size_t i = 0; (i + 1) * size <= buffer.size(); ++i)
        std::memcpy(&buffer[i * size], &values[i], size); // Little-endian: the low bytes come first.
}

} // namespace tenon::cli
