// Calibration caches: text to scales, and back.
#include "api/build/calibration_cache.h"

#include "base/log.h"

#include "NvInferVersion.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <fmt/format.h>

namespace tenon::api
{

using nvinfer1::CalibrationAlgoType;

std::string_view algorithmName(CalibrationAlgoType algorithm) noexcept
{
    switch (algorithm)
    {
    case CalibrationAlgoType::kLEGACY_CALIBRATION: return "LegacyCalibration";
    case CalibrationAlgoType::kENTROPY_CALIBRATION: return "EntropyCalibration";
    case CalibrationAlgoType::kENTROPY_CALIBRATION_2: return "EntropyCalibration2";
    case CalibrationAlgoType::kMINMAX_CALIBRATION: return "MinMaxCalibration";
    }
    return "UnknownCalibration";
}

std::string cacheText(CalibrationAlgoType algorithm, Scales const& scales)
{
    std::string text = fmt::format("TRT-{}-{}\n", NV_TENSORRT_VERSION, algorithmName(algorithm));
    for (auto const& [name, scale] : scales)
        text += fmt::format("{}: {:08x}\n", name, std::bit_cast<uint32_t>(scale));
    return text;
}

Result<Scales> readCache(CalibrationAlgoType algorithm, std::string_view text)
{
    Scales scales;
    bool isHead{true};
    while (!text.empty())
    {
        size_t const end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (line.ends_with('\r'))
            line.remove_suffix(1);
        if (std::exchange(isHead, false))
        {
            size_t const dash = line.rfind('-');
            if (!line.starts_with("TRT-") || dash == std::string_view::npos)
                return badArgument(
                    "it begins with '{}' instead of 'TRT-', a version and an algorithm", line.substr(0, 40));
            if (line.substr(dash + 1) != algorithmName(algorithm))
                return badArgument("it is of {}, and the calibrator's algorithm is {}", line.substr(dash + 1),
                    algorithmName(algorithm));
            continue;
        }
        if (line.empty())
            continue;
        size_t const colon = line.rfind(": ");
        uint32_t bits{0};
        std::string_view const digits = colon == std::string_view::npos ? line : line.substr(colon + 2);
        auto const [stop, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), bits, 16);
        float const scale = std::bit_cast<float>(bits);
        bool const isWhole = problem == std::errc{} && stop == digits.data() + digits.size();
        if (colon == std::string_view::npos || !isWhole || !std::isfinite(scale) || scale < 0.0F)
            return badArgument("the line '{}' gives no scale", line.substr(0, 80));
        scales[std::string{line.substr(0, colon)}] = scale;
    }
    if (isHead)
        return badArgument("it is empty");
    return scales;
}

} // namespace tenon::api
