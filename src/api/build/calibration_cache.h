// Calibration caches: a line that names the algorithm, then a line per tensor with the scale as the bits of a float.
#pragma once

#include "base/bytes.h"
#include "base/result.h"

#include "NvInfer.h"

#include <map>
#include <string>

namespace tenon::api
{

//! By name of the tensor: the real number that one step of int8 is worth.
using Scales = std::map<std::string, float>;

//! "EntropyCalibration2" and the like, as caches have it.
std::string_view algorithmName(nvinfer1::CalibrationAlgoType algorithm) noexcept;
std::string cacheText(nvinfer1::CalibrationAlgoType algorithm, Scales const& scales);
//! Any version's; an error for another algorithm, or for what is no cache.
Result<Scales> readCache(nvinfer1::CalibrationAlgoType algorithm, std::string_view text);

} // namespace tenon::api
