// Against: every tensor that the network shares with the model is a debug tensor, written to a file of a run and judged
// by the script against.py.
#include "against.h"

#include "elements.h"
#include "interruption.h"
#include "npy.h"
#include "peer.h"
#include "python.h"
#include "session.h"
#include "texts.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <stdexcept>

namespace tenon::cli
{

using namespace nvinfer1;

namespace
{
constexpr char const* kEngine{"onnxruntime"};
constexpr char const* kAgainstProgram{
#include "against.inc"
};

//! A folder of its own; gone with this.
class ScratchFolder
{
  public:
    ScratchFolder()
        : mPath{(std::filesystem::temp_directory_path() / "tenon-XXXXXX").string()}
    {
        if (mkdtemp(mPath.data()) == nullptr)
            throw std::runtime_error("no folder for the tensors can be made as '" + mPath + "'");
    }
    ~ScratchFolder()
    {
        std::error_code ignored;
        std::filesystem::remove_all(mPath, ignored);
    }
    ScratchFolder(ScratchFolder const&) = delete;
    ScratchFolder& operator=(ScratchFolder const&) = delete;

    std::string const& path() const
    {
        return mPath;
    }

  private:
    std::string mPath;
};

//! Tensors as files, by name.
class TensorFiles : public IDebugListener
{
  public:
    explicit TensorFiles(std::string const& folder)
        : mFolder{folder}
    {
    }
    void write(Json& files, std::string const& name, DataType type, Dims const& dims, void const* data)
    {
        std::string const file = std::to_string(mCount++) + ".npy";
        writeNpy(mFolder + "/" + file, type, dims, data);
        files[name] = file;
    }
    bool processDebugTensor(
        void const* addr, TensorLocation, DataType type, Dims const& shape, char const* name, cudaStream_t) override
    {
        try // Nothing is thrown into the engine.
        {
            write(mValues, name, type, shape, addr);
        }
        catch (std::exception const& problem)
        {
            mProblem = problem.what();
        }
        return true;
    }
    Json const& values() const
    {
        if (!mProblem.empty())
            throw std::runtime_error("a tensor could not be written: " + mProblem);
        return mValues;
    }

  private:
    std::string mFolder;
    size_t mCount{0};
    Json mValues = Json::object();
    std::string mProblem;
};

//! Whether files hold elements of the type.
bool isWritable(DataType type)
{
    return type == DataType::kFLOAT || type == DataType::kHALF || type == DataType::kINT8 || type == DataType::kINT32
        || type == DataType::kINT64 || type == DataType::kBOOL || type == DataType::kUINT8 || type == kFloat64;
}

bool isFloat(DataType type)
{
    return type == DataType::kFLOAT || type == DataType::kHALF || type == kFloat64;
}

//! Where extents depend on data, values that extents are made of are known too late to be debug tensors: integers stay
//! unmarked.
bool hasExtentsOfData(INetworkDefinition const& network)
{
    for (int32_t i = 0; i < network.getNbLayers(); ++i)
        if (LayerType const type = network.getLayer(i)->getType();
            type == LayerType::kNON_ZERO || type == LayerType::kNMS)
            return true;
    return false;
}

void markValues(INetworkDefinition& network, std::set<std::string> const& names)
{
    bool const isLate = hasExtentsOfData(network);
    for (int32_t i = 0; i < network.getNbLayers(); ++i)
    {
        ILayer const& layer = *network.getLayer(i);
        for (int32_t j = 0; j < layer.getNbOutputs(); ++j)
            if (ITensor* const tensor = layer.getOutput(j); tensor != nullptr && names.contains(tensor->getName())
                && isWritable(tensor->getType()) && (!isLate || isFloat(tensor->getType())))
                network.markDebug(*tensor);
    }
}

//! The script's next line; its own complaint is ours.
Json answerOf(Child& script)
{
    Json json = Json::parse(script.readLine(), nullptr, false);
    if (json.is_discarded())
        throw std::runtime_error(std::string{kEngine} + ": its process has ended, or said what is no answer");
    if (json.contains("error"))
        throw std::runtime_error(std::string{kEngine} + ": " + json["error"].get<std::string>());
    return json;
}

std::string chosenPython(AgainstOptions const& options)
{
    std::string const python = pythonWith(kEngine, options.python);
    for (char const* package : {kEngine, "onnx"})
        if (!hasPackage(python, package))
            throw std::runtime_error(std::string{"--against: the Python package '"} + package
                + "' is not installed for " + python + "; --python names an interpreter that has it");
    return python;
}

//! One run with every shared tensor in a file; the task of the script.
Json runWithFiles(
    AgainstOptions const& options, Common const& common, std::set<std::string> const& names, std::string const& folder)
{
    Logger logger{common.severity()};
    Shapes const shapes = parseShapes(options.shapes);
    Session session{
        options.path, shapes, common, logger, [&](INetworkDefinition& network) { markValues(network, names); }};
    GivenInputs const given = readInputs(options.inputs);
    checkInputs(given, session.engine(), options.seed.has_value());
    session.prepare(shapes, options.seed.value_or(0), given);
    TensorFiles files{folder};
    Json inputs = Json::object();
    for (std::string const& name : namesOf(session.engine(), TensorIOMode::kINPUT))
        files.write(inputs, name, session.engine().getTensorDataType(name.c_str()),
            session.context().getTensorShape(name.c_str()), session.outputData(name));
    session.context().setDebugListener(&files);
    session.context().setAllTensorsDebugState(true);
    session.run();
    Json task{{"inputs", inputs}, {"values", files.values()}, {"first_only", options.firstOnly}};
    task["absolute"] = options.absolute ? Json(*options.absolute) : Json(nullptr);
    task["relative"] = options.relative ? Json(*options.relative) : Json(nullptr);
    return task;
}

Json reportOf(Child& script, Json const& task, bool isQuiet)
{
    ProgressBar bar{!isQuiet, "Comparing nodes"};
    script.write(task.dump());
    for (Json answer = answerOf(script);; answer = answerOf(script))
    {
        if (!answer.contains("done"))
            return answer;
        bar.advance("Comparing nodes", Count{answer["done"].get<int64_t>(), answer["of"].get<int64_t>()});
    }
}

std::string placeOf(Json const& node)
{
    if (node.contains("got_shape"))
        return "shape " + node["got_shape"].dump() + ", want " + node["want_shape"].dump();
    return "element " + node["index"].dump() + ": got " + node["got"].get<std::string>() + ", want "
        + node["want"].get<std::string>() + " (tolerance " + node["bound"].get<std::string>() + ")";
}

void printDifferences(Json const& report, bool isVerbose)
{
    std::printf("%s: %s of %s nodes compared\n", report["engine"].get<std::string>().c_str(),
        report["compared"].dump().c_str(), report["nodes"].dump().c_str());
    for (auto const& [why, count] : report["left_out"].items())
        if (isVerbose)
            std::printf("  %s not: %s\n", count.dump().c_str(), why.c_str());
    Json const& differ = report["differ"];
    for (size_t i = 0; i < differ.size() && (i == 0 || isVerbose); ++i)
        std::printf("%s: '%s' (%s), output '%s', %s\n", i == 0 ? "first node that differs" : "another",
            shownName(differ[i]["node"].get<std::string>()).c_str(),
            shownName(differ[i]["operator"].get<std::string>()).c_str(),
            shownName(differ[i]["output"].get<std::string>()).c_str(), placeOf(differ[i]).c_str());
    if (differ.size() > 1 && !isVerbose)
        std::printf("%zu more differ: -v lists them\n", differ.size() - 1);
    std::printf("%s\n", shownVerdict(report["compared"].get<size_t>(), differ.size(), "nodes").c_str());
}
} // namespace

int verifyAgainst(AgainstOptions const& options, Common const& common)
{
    if (options.engine != kEngine)
        throw std::invalid_argument("--against: '" + options.engine + "' is not onnxruntime, the one that there is");
    if (!isOnnx(options.path))
        throw std::invalid_argument("--against: onnxruntime reads models, not plans: name the .onnx file");
    ScratchFolder const folder;
    Child script{{chosenPython(options), "-c", kAgainstProgram, options.path, folder.path()}};
    Json const ready = answerOf(script);
    auto const names = ready["values"].get<std::set<std::string>>();
    Json const task = runWithFiles(options, common, names, folder.path());
    Json report = reportOf(script, task, common.quiet);
    if (gInterrupted)
        return kInterruptedStatus;
    report["engine"] = std::string{kEngine} + " " + shownName(ready["version"].get<std::string>());
    report["ok"] = report["differ"].empty() && report["compared"] > 0; // What compares nothing proves nothing.
    if (options.json)
        std::printf("%s\n", report.dump(2).c_str());
    else
        printDifferences(report, common.verbose);
    return report["ok"].get<bool>() ? 0 : 1;
}

} // namespace tenon::cli
