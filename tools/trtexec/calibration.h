// Calibration: a calibrator that knows a cache and has no data.
#pragma once

#include "files.h"

#include "NvInfer.h"

#include <string>
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

  private:
    std::vector<char> mCache;
};

} // namespace tenon::trtexec
