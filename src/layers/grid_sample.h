// GridSample: elements of an image read at positions that a grid gives.
#pragma once

#include "NvInfer.h"
#include "ir/layer.h"
#include "layers/layer_table.h"

#include <array>

namespace tenon
{

//! Inputs: x [n, c, h, w] (or [n, c, d, h, w], which upstream takes from 11.2 on), grid [n, h', w', 2] (or [n, d', h',
//! w', 3]). A grid point is (x, y[, z]) in −1 … 1: the innermost axis first. Output: [n, c, h', w'].
struct GridSample
{
    static constexpr std::string_view kName{"GridSample"};
    static constexpr PublicFacts kPublic{.type = nvinfer1::LayerType::kGRID_SAMPLE, .maxInputs = 2};
    nvinfer1::InterpolationMode interpolationMode{nvinfer1::InterpolationMode::kLINEAR};
    bool alignCorners{false}; //!< −1 and 1 are the middles of the outermost elements, not their outer edges.
    nvinfer1::SampleMode sampleMode{nvinfer1::SampleMode::kFILL}; //!< kFILL: with 0.

    static constexpr auto fields()
    {
        return std::tuple{field(1, "InterpolationMode", &GridSample::interpolationMode),
            field(2, "AlignCorners", &GridSample::alignCorners), field(3, "SampleMode", &GridSample::sampleMode)};
    }

    //! What one point reads along one axis. An index of −1 is outside, where the fill value stands.
    struct Taps
    {
        int32_t count{1}; //!< 1 nearest, 2 linear, 4 cubic.
        std::array<int64_t, 4> index{};
        std::array<double, 4> weight{};
    };

    static bool takes(nvinfer1::SampleMode mode) noexcept;
    Result<Done> verify() const;
    Result<TensorType> infer(Inputs const& in) const;
    //! The one definition of positions and weights, for the reference and for kernels. `extent` is at least 1.
    Taps tapsOf(double point, int64_t extent) const;
    Result<std::vector<HostTensor>> reference(HostTensors const& in) const;
};

} // namespace tenon

TENON_LAYER(GridSample);
