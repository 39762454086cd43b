// Inputs: shapes and contents that the command line gives them.
#include "files.h"
#include "inference.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace tenon::trtexec
{

using namespace nvinfer1;

namespace
{
Dims dimsOfList(Extents const& extents)
{
    Dims dims{};
    dims.nbDims = static_cast<int32_t>(std::min<size_t>(extents.size(), Dims::MAX_DIMS));
    std::copy_n(extents.begin(), dims.nbDims, dims.d);
    return dims;
}

void checkKnown(std::vector<std::string> const& inputs, std::string const& pattern)
{
    if (std::none_of(inputs.begin(), inputs.end(), [&](std::string const& name) { return fits(pattern, name); }))
    {
        std::string known;
        for (std::string const& name : inputs)
            known += (known.empty() ? "'" : ", '") + name + "'";
        throw std::invalid_argument("the engine has no input '" + pattern + "'; it has " + known);
    }
}

//! What stands behind the name of a shape tensor are its values.
cli::NpyArray valuesOf(ICudaEngine const& engine, std::string const& name, Extents const& values)
{
    cli::NpyArray array{engine.getTensorDataType(name.c_str()), engine.getTensorShape(name.c_str()), {}};
    size_t const each = array.type == DataType::kINT64 ? 8 : array.type == DataType::kBOOL ? 1 : 4;
    if (array.dims.nbDims == 1 && array.dims.d[0] < 0)
        array.dims.d[0] = static_cast<int64_t>(values.size());
    if (cli::elementsOf(array.dims) != values.size())
        throw std::invalid_argument(text("shape tensor '%s' of shape %s takes other than %zu values", name.c_str(),
            cli::show(array.dims).c_str(), values.size()));
    array.data.resize(values.size() * each);
    for (size_t i = 0; i < values.size(); ++i)
        std::memcpy(&array.data[i * each], &values[i], each); // Little-endian: the low bytes come first.
    return array;
}

//! .npy files know type and shape; all others are the bytes of the tensor.
cli::NpyArray contentsOf(ICudaEngine const& engine, std::string const& name, std::string const& path, Dims const& dims)
{
    DataType const type = engine.getTensorDataType(name.c_str());
    if (path.size() > 4 && path.substr(path.size() - 4) == ".npy")
    {
        cli::NpyArray array = cli::readNpy(path);
        if (array.type != type)
            throw std::invalid_argument("input '" + name + "' has elements of type " + cli::typeName(type) + ", '"
                + path + "' of " + cli::typeName(array.type));
        return array;
    }
    cli::NpyArray array{type, dims, cli::readFile(path)};
    if (auto const bytes = cli::bytesOf(engine, name.c_str(), dims); bytes != array.data.size())
        throw std::invalid_argument(text("input '%s' of shape %s takes %zu bytes; '%s' has %zu", name.c_str(),
            cli::show(dims).c_str(), bytes.value_or(0), path.c_str(), array.data.size()));
    return array;
}
} // namespace

cli::Shapes inputShapes(ICudaEngine const& engine, InferenceOptions const& options)
{
    std::vector<std::string> const inputs = cli::namesOf(engine, TensorIOMode::kINPUT);
    cli::Shapes shapes;
    for (auto const& [pattern, extents] : options.shapes)
    {
        checkKnown(inputs, pattern);
        Dims const dims = dimsOfList(extents);
        for (std::string const& name : inputs)
            if (fits(pattern, name) && !engine.isShapeInferenceIO(name.c_str()))
                shapes[name] = {dims, dims, dims};
    }
    for (auto const& [pattern, extents] : options.shapes) // A name itself wins over patterns.
        if (shapes.contains(pattern))
            shapes[pattern] = {dimsOfList(extents), dimsOfList(extents), dimsOfList(extents)};
    return shapes;
}

cli::GivenInputs inputContents(ICudaEngine const& engine, InferenceOptions const& options, cli::Shapes const& shapes)
{
    std::vector<std::string> const inputs = cli::namesOf(engine, TensorIOMode::kINPUT);
    cli::GivenInputs contents;
    for (auto const& [pattern, extents] : options.shapes)
        for (std::string const& name : inputs)
            if (fits(pattern, name) && engine.isShapeInferenceIO(name.c_str()))
                contents[name] = valuesOf(engine, name, extents);
    for (auto const& [name, path] : options.inputs)
    {
        checkKnown(inputs, name);
        auto const shape = shapes.find(name);
        Dims const dims = shape != shapes.end()
            ? shape->second.opt
            : engine.getProfileShape(name.c_str(), options.profile, OptProfileSelector::kOPT);
        contents[name] = contentsOf(engine, name, path, dims);
    }
    return contents;
}

} // namespace tenon::trtexec
