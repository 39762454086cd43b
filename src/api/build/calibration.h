// Calibration: ranges of tensors from a cache, or from runs of the network in float32 on the batches of a calibrator.
#pragma once

#include "api/build/builder_config.h"
#include "api/build/calibration_cache.h"
#include "api/network/network.h"
#include "backend/device_choice.h"

#include <functional>
#include <vector>

namespace tenon::api
{

struct CalibrationRequest
{
    Network& network;
    nvinfer1::IInt8Calibrator& calibrator;
    DeviceChoice const& device;
    plugins::Registry const* plugins{nullptr};
    std::vector<std::string> values; //!< To find ranges of.
    //! A graph of the network in which they stand, for shapes of one profile.
    std::function<Result<NetworkGraph>()> makeGraph;
};

//! Asks the calibrator for its cache first, and gives it the new one where there was none.
Result<Scales> calibrate(CalibrationRequest const& request);

} // namespace tenon::api
