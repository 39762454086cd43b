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
        auto const extent = py::reinterpret_steal<py::object>(PyNumber_Index(py::object(shape[i]).ptr()));
        if (!extent)
            throw py::error_already_set(); // TypeError: no integer.
        int overflow{0};
        long long const value = PyLong_AsLongLongAndOverflow(extent.ptr(), &overflow);
        if (overflow != 0 || value > std::numeric_limits<int32_t>::max() || value < std::numeric_limits<int32_t>::min())
            throw py::value_error("extent " + std::string{py::str(extent)} + " does not fit 32 bits");
        dims.d[i] = value;
    }
    return dims;
}

Bindings bindingsOf(
    py::object const& context, py::sequence const& given, std::string const& call, CheckRoom const& check)
{
    auto const& self = context.cast<IExecutionContext const&>();
    ICudaEngine const& engine = self.getEngine();
    auto const count = static_cast<size_t>(engine.getNbIOTensors());
    size_t const all = count * static_cast<size_t>(engine.getNbOptimizationProfiles());
    if (given.size() != count && given.size() != all)
        throw py::value_error(call + " was given " + std::to_string(given.size()) + " bindings; the engine has "
            + std::to_string(count) + " tensors, " + std::to_string(all) + " with those of all profiles");
    size_t const from = given.size() == count ? 0 : count * static_cast<size_t>(self.getOptimizationProfile());
    Bindings read;
    read.holders.append(holdersOf(context));
    std::vector<Memory> memory;
    for (size_t i = 0; i < count; ++i)
    {
        memory.push_back(tensorMemory(engine, engine.getIOTensorName(static_cast<int32_t>(i)), given[from + i]));
        read.addresses.push_back(memory.back().address);
    }
    for (size_t i = 0; i < count; ++i)
        if (memory[i].owner)
        {
            check(engine.getIOTensorName(static_cast<int32_t>(i)), memory[i].bytes, read.addresses.data());
            read.holders.append(memory[i].owner);
        }
    return read;
}

py::list profileValues(ICudaEngine const& engine, std::string const& name, int32_t profile)
{
    using Select = OptProfileSelector;
    std::string const none = "tensor '" + name + "' has no shape values in profile " + std::to_string(profile);
    if (profile < 0 || profile >= engine.getNbOptimizationProfiles())
        throw std::runtime_error(none + ": the engine has " + std::to_string(engine.getNbOptimizationProfiles()));
    Dims const shape = engine.getTensorShape(name.c_str());
    if (shape.nbDims < 0)
        throw std::runtime_error(none + ": the engine has no such tensor");
    int64_t count{1};
    for (int32_t i = 0; i < shape.nbDims; ++i)
        count *= shape.d[i];
    py::list values;
    for (Select const which : {Select::kMIN, Select::kOPT, Select::kMAX})
        if (int64_t const* wide = engine.getProfileTensorValuesV2(name.c_str(), profile, which))
            values.append(std::vector<int64_t>(wide, wide + count));
        else if (int32_t const* narrow = engine.getProfileTensorValues(name.c_str(), profile, which))
            values.append(std::vector<int64_t>(narrow, narrow + count));
        else
            throw std::runtime_error(none);
    return values;
}

} // namespace tenon::python
