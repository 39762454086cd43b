// Buffer: host memory of one tensor, and what inputs are filled with.
#pragma once

#include "NvInfer.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace tenon::cli
{

class Buffer
{
  public:
    Buffer() = default;
    //! Zeros. Throws std::runtime_error that names the tensor and the size, where there is not that much memory; no
    //! number: more than can be counted. An empty tensor has an address, too.
    Buffer(std::string const& tensor, std::optional<size_t> bytes);
    std::span<char> bytes() const noexcept
    {
        return {mMemory.get(), mSize};
    }
    char* data() const noexcept
    {
        return mMemory.get();
    }

  private:
    struct Free
    {
        void operator()(char* memory) const noexcept;
    };
    std::unique_ptr<char, Free> mMemory;
    size_t mSize{0};
};

//! Normal floats, small non-negative integers: what most models take without complaint.
void fillRandom(std::span<char> buffer, nvinfer1::DataType type, uint32_t seed);
//! The values that the profile has as kOPT for a shape tensor: random ones would lie outside of its bounds.
void fillFromProfile(
    std::span<char> buffer, nvinfer1::ICudaEngine const& engine, char const* name, int32_t profile = 0);

} // namespace tenon::cli
