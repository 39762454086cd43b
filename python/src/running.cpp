// Shapes from Python, and values of profiles for Python.
#include "running.h"

#include <limits>

namespace tenon::python
{

using namespace nvinfer1;

Dims narrowDims(py::sequence const& shape)
{
    Dims dims{};
    if (shape.size() > static_cast<size_t>(Dims::MAX_DIMS))
        throw py::value_error("a shape of " + std::to_string(shape.size()) + " extents; at most 8 are possible");
    dims.nbDims = static_cast<int32_t>(shape.size());
    for (size_t i = 0; i < shape.size(); ++i)
    {
        auto const extent = shape[i].cast<int64_t>();
        if (extent > std::numeric_limits<int32_t>::max() || extent < std::numeric_limits<int32_t>::min())
            throw py::value_error("extent " + std::to_string(extent) + " does not fit 32 bits");
        dims.d[i] = extent;
    }
    return dims;
}

py::list profileValues(ICudaEngine const& engine, std::string const& name, int32_t profile)
{
    Dims const shape = engine.getTensorShape(name.c_str());
    int64_t count{1};
    for (int32_t i = 0; i < shape.nbDims; ++i)
        count *= shape.d[i];
    return forEachSelector([&](OptProfileSelector which) {
        if (int64_t const* wide = engine.getProfileTensorValuesV2(name.c_str(), profile, which))
            return std::vector<int64_t>(wide, wide + count);
        if (int32_t const* narrow = engine.getProfileTensorValues(name.c_str(), profile, which))
            return std::vector<int64_t>(narrow, narrow + count);
        throw std::runtime_error("tensor '" + name + "' has no shape values in profile " + std::to_string(profile));
    });
}

} // namespace tenon::python
