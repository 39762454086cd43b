// LayerProfile: times of layers over many runs.
#pragma once

#include "log.h"

#include "NvInfer.h"

#include <string>
#include <vector>

namespace tenon::trtexec
{

class LayerProfile : public nvinfer1::IProfiler
{
  public:
    //! Layers come in the same order in each run; the first one's name begins a run.
    void reportLayerTime(char const* layerName, float milliseconds) noexcept override;

    void print(Log const& log) const;
    //! Throws std::runtime_error.
    void write(std::string const& path) const;

  private:
    struct Layer
    {
        std::string name;
        std::vector<double> times;
    };
    double total() const;

    std::vector<Layer> mLayers;
    size_t mNext{0};
    size_t mRuns{0};
};

} // namespace tenon::trtexec
