// Calibration: a calibrator that knows a cache and has no data.
#pragma once

#include "files.h"

#include "NvInfer.h"

#include <bit>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::trtexec
{

class CacheCalibrator : public nvinfer1::IInt8EntropyCalibrator2
{
  public:
    //! Throws std::runtime_error where the file cannot be read.
    explicit CacheCalibrator(std::string const& path)
        : mCache{cli::readFile(path)}
    {
    }
    int32_t getBatchSize() const noexcept override
    {
        return 1;
    }
    bool getBatch(void**, char const**, int32_t) noexcept override
    {
        return false;
    }
    void const* readCalibrationCache(size_t& length) noexcept override
    {
        length = mCache.size();
        return mCache.data();
    }
    void writeCalibrationCache(void const*, size_t) noexcept override {}

    //! Up to which real number int8 goes, by the tensor's line: its name and the bits of a step's size.
    std::optional<float> reachOf(std::string const& tensor) const
    {
        std::string_view const text{mCache.data(), mCache.size()};
        std::string const start = '\n' + tensor + ": ";
        size_t const at = text.find(start);
        if (at == std::string_view::npos)
            return std::nullopt;
        std::string_view const digits = text.substr(at + start.size());
        uint32_t bits{0};
        if (std::from_chars(digits.data(), digits.data() + digits.size(), bits, 16).ec != std::errc{})
            return std::nullopt;
        constexpr float kSteps{127.0F};
        return std::bit_cast<float>(bits) * kSteps;
    }

  private:
    std::vector<char> mCache;
};

} // namespace tenon::trtexec
