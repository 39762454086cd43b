// DebugTensors: the listener, and the forms of files.
#include "debug_tensors.h"

#include "elements.h"
#include "files.h"
#include "npy.h"
#include "outputs.h"
#include "shapes.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace tenon::trtexec
{

using namespace nvinfer1;

namespace
{
constexpr char const* kSummaryFile{"debug_tensors_summary.json"};

cli::Json summaryOf(std::string const& name, DataType type, Dims const& dims, char const* data)
{
    size_t const count = cli::elementsOf(dims).value_or(0);
    cli::Json summary{{"name", name}, {"type", cli::typeName(type)}, {"shape", cli::show(dims)}};
    if (count == 0 || !cli::elementAt(type, data, 0))
        return summary;
    double low{INFINITY};
    double high{-INFINITY};
    double sum{0.0};
    for (size_t i = 0; i < count; ++i)
    {
        double const value = *cli::elementAt(type, data, i);
        low = std::isnan(value) || value < low ? value : low; // A NaN stays, as it does in the mean.
        high = std::isnan(value) || value > high ? value : high;
        sum += value;
    }
    summary.update({{"min", low}, {"max", high}, {"avg", sum / static_cast<double>(count)}});
    return summary;
}

//! A row of the last axis per line.
std::string rowsOf(DataType type, Dims const& dims, char const* data)
{
    size_t const count = cli::elementsOf(dims).value_or(0);
    auto const row = static_cast<size_t>(dims.nbDims > 0 ? std::max<int64_t>(dims.d[dims.nbDims - 1], 1) : 1);
    std::string rows;
    for (size_t i = 0; i < count; ++i)
    {
        std::optional<double> const value = cli::elementAt(type, data, i);
        rows += value ? text("%.9g", *value) : "?";
        rows += (i + 1) % row == 0 ? "\n" : " ";
    }
    return rows;
}
} // namespace

DebugTensors::DebugTensors(InferenceOptions const& options, bool hasUnfused, Log const& log)
    : mLog{&log},
      mHasUnfused{hasUnfused},
      mFiles{options.savedDebugTensors.begin(), options.savedDebugTensors.end()},
      mForms{options.debugForms}
{
}

void DebugTensors::attach(IExecutionContext& context)
{
    context.setDebugListener(this);
    for (auto const& [name, file] : mFiles)
        if (!context.getEngine().isDebugTensor(name.c_str()) || !context.setTensorDebugState(name.c_str(), true))
            throw std::invalid_argument(
                "--saveDebugTensors: the engine has no debug tensor '" + name + "'; --markDebug makes one of a tensor");
    if (mForms.empty())
        return;
    context.setAllTensorsDebugState(true);
    if (mHasUnfused)
        context.setUnfusedTensorsDebugState(true);
}

void DebugTensors::writeForms(std::string const& name, DataType type, Dims const& dims, char const* data, size_t bytes)
{
    std::string const stem = fileNameOf(name);
    for (std::string const& form : mForms)
    {
        if (form == "summary")
            mSummaries[name] = summaryOf(name, type, dims, data);
        else if (form == "numpy")
            cli::writeNpy(stem + ".npy", type, dims, data);
        else if (form == "raw")
            cli::writeFile(stem + ".raw", data, bytes);
        else if (std::string const rows = rowsOf(type, dims, data); true)
            cli::writeFile(stem + ".str", rows.data(), rows.size());
    }
}

bool DebugTensors::processDebugTensor(
    void const* addr, TensorLocation, DataType type, Dims const& shape, char const* name, cudaStream_t)
{
    try // Nothing is thrown into the engine.
    {
        auto const* const data = static_cast<char const*>(addr);
        size_t const bytes = cli::bytesOf(type, shape).value_or(0);
        if (auto const file = mFiles.find(name); file != mFiles.end())
            cli::writeFile(file->second, data, bytes);
        writeForms(name, type, shape, data, bytes);
    }
    catch (std::exception const& problem)
    {
        mProblem = problem.what();
    }
    return true;
}

void DebugTensors::finish()
{
    if (std::find(mForms.begin(), mForms.end(), "summary") != mForms.end())
    {
        cli::Json json = cli::Json::array();
        for (auto const& [name, summary] : mSummaries)
            json.push_back(summary);
        std::string const made = json.dump(1, ' ', false, cli::Json::error_handler_t::replace) + "\n";
        cli::writeFile(kSummaryFile, made.data(), made.size());
        mLog->info(text("%zu debug tensors are summed up in %s", mSummaries.size(), kSummaryFile));
    }
    if (!mProblem.empty())
        throw std::runtime_error("a debug tensor could not be written: " + mProblem);
}

} // namespace tenon::trtexec
