// Outputs: elements in row-major order, whatever format the engine has them in.
#include "outputs.h"

#include "elements.h"
#include "files.h"
#include "texts.h"

#include <algorithm>
#include <cctype>
#include <stdexcept>

namespace tenon::trtexec
{

using namespace nvinfer1;

namespace
{
//! A tensor of the last query, as the engine left it.
struct Made
{
    std::string name;
    Dims dims;
    DataType type;
    char const* data;
    bool isInput;
};

std::vector<Made> tensorsOf(Lane& lane, ICudaEngine const& engine)
{
    std::vector<Made> all;
    for (auto const mode : {TensorIOMode::kINPUT, TensorIOMode::kOUTPUT})
        for (std::string const& name : cli::namesOf(engine, mode))
            all.push_back({name, lane.tensors().dims(name), engine.getTensorDataType(name.c_str()),
                lane.tensors().data(name), mode == TensorIOMode::kINPUT});
    return all;
}

//! Where element `index` in row-major order lies.
size_t offsetOf(ICudaEngine const& engine, IExecutionContext const& context, Made const& tensor, size_t index)
{
    if (engine.getTensorFormat(tensor.name.c_str()) == TensorFormat::kLINEAR)
        return index;
    Dims const strides = context.getTensorStrides(tensor.name.c_str());
    int32_t const vectorAxis = engine.getTensorVectorizedDim(tensor.name.c_str());
    int64_t const lanes = std::max(engine.getTensorComponentsPerElement(tensor.name.c_str()), 1);
    int64_t offset{0};
    for (int32_t axis = tensor.dims.nbDims - 1; axis >= 0; --axis)
    {
        auto const extent = static_cast<size_t>(tensor.dims.d[axis]);
        auto const at = static_cast<int64_t>(index % extent);
        index /= extent;
        offset += axis == vectorAxis ? at / lanes * strides.d[axis] * lanes + at % lanes : at * strides.d[axis] * lanes;
    }
    return static_cast<size_t>(offset);
}

std::vector<double> valuesOfTensor(ICudaEngine const& engine, IExecutionContext const& context, Made const& tensor)
{
    size_t const count = cli::elementsOf(tensor.dims).value_or(0);
    if (count > 0 && !cli::elementAt(tensor.type, tensor.data, 0))
        throw std::runtime_error("output '" + tensor.name + "' has elements of type " + cli::typeName(tensor.type)
            + ", which have no form as numbers");
    std::vector<double> values;
    for (size_t i = 0; i < count; ++i)
        values.push_back(*cli::elementAt(tensor.type, tensor.data, offsetOf(engine, context, tensor, i)));
    return values;
}

bool isWhole(DataType type)
{
    return type != DataType::kFLOAT && type != DataType::kHALF && type != DataType::kBF16 && type != cli::kFloat64;
}

std::string dimsJoined(Dims const& dims, char const* separator)
{
    std::string text;
    for (int32_t i = 0; i < dims.nbDims; ++i)
        text += (i == 0 ? "" : separator) + std::to_string(dims.d[i]);
    return text;
}

void print(ICudaEngine const& engine, IExecutionContext const& context, Made const& tensor, Log const& log)
{
    log.info(tensor.name + ": (" + dimsJoined(tensor.dims, "x") + ")");
    std::string line;
    for (double const value : valuesOfTensor(engine, context, tensor))
        line += (line.empty() ? "" : " ") + text("%.9g", value);
    std::printf("%s\n", line.c_str()); // Whole, however long.
}

//! Numbers that JSON has no form for are null.
cli::Json jsonOf(ICudaEngine const& engine, IExecutionContext const& context, Made const& tensor)
{
    cli::Json values = cli::Json::array();
    for (double const value : valuesOfTensor(engine, context, tensor))
        isWhole(tensor.type) ? values.push_back(static_cast<int64_t>(value)) : values.push_back(value);
    return {{"name", tensor.name}, {"dimensions", dimsJoined(tensor.dims, "x")}, {"values", values}};
}

void writeRaw(ICudaEngine const& engine, Made const& tensor, Log const& log)
{
    std::string const kind = tensor.isInput ? "input" : "output";
    std::string const dims = dimsJoined(tensor.dims, ".");
    std::string const file = fileNameOf(tensor.name + "." + kind + "." + dims + "." + typeText(tensor.type) + ".raw");
    cli::writeFile(file, tensor.data, cli::bytesOf(engine, tensor.name.c_str(), tensor.dims).value_or(0));
    log.info("Writing " + kind + " " + tensor.name + " to " + file);
}
} // namespace

std::string fileNameOf(std::string name)
{
    auto const isSafe = [](unsigned char c) { return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_'; };
    std::replace_if(
        name.begin(), name.end(), [&](char c) { return !isSafe(static_cast<unsigned char>(c)); }, '_');
    return name;
}

void writeOutputs(Lane& lane, ICudaEngine const& engine, ReportOptions const& report, Log const& log)
{
    if (!report.dumpsOutput && !report.dumpsRaw && report.output.empty())
        return;
    IExecutionContext const& context = lane.context();
    cli::Json json = cli::Json::array();
    if (report.dumpsOutput)
        log.info("Output Tensors:");
    for (Made const& tensor : tensorsOf(lane, engine))
    {
        if (report.dumpsOutput && !tensor.isInput)
            print(engine, context, tensor, log);
        if (!report.output.empty() && !tensor.isInput)
            json.push_back(jsonOf(engine, context, tensor));
        if (report.dumpsRaw)
            writeRaw(engine, tensor, log);
    }
    if (report.output.empty())
        return;
    std::string const made = json.dump(-1, ' ', false, cli::Json::error_handler_t::replace) + "\n";
    cli::writeFile(report.output, made.data(), made.size());
}

} // namespace tenon::trtexec
