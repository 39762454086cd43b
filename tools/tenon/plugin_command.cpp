// tenon plugin: check a plugin without a network, list creators, trace the calls that plugins get.
#include "commands.h"
#include "plugin_arguments.h"
#include "progress_bar.h"
#include "python.h"
#include "session.h"
#include "texts.h"

#include "NvInferPlugin.h"
#include "impl/NvInferPythonPlugin.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tenon::cli
{

namespace
{
using nvinfer1::IPluginCreatorInterface;
using nvinfer1::PluginFieldCollection;

constexpr char const* kStock{"stock"}; //!< In the place of a library: the plugins that this one has itself.
constexpr char const* kUsualShape{"1x3x8x8:2x3x8x8:4x3x8x8"};

struct CheckOptions
{
    std::string library;
    std::string creator;
    std::string fields;
    std::string shapes;
    std::string types;
    std::string python; //!< Empty: the first one found that has the package tenon.
    uint32_t seed{1};
    int32_t seconds{60};
    bool inProcess{false};
    bool withoutEmpties{false};
    bool json{false};
};

//! Replaces this process; only an error comes back.
[[noreturn]] void become(std::vector<std::string> const& command, std::string const& hint)
{
    std::vector<char*> arguments;
    for (std::string const& each : command)
        arguments.push_back(const_cast<char*>(each.c_str()));
    arguments.push_back(nullptr);
    std::fflush(stdout);
    execvp(arguments[0], arguments.data());
    throw std::runtime_error("'" + command[0] + "' cannot be started: " + std::strerror(errno) + hint);
}

//! As `python -m tenon.plugin_check`, but an interpreter without the package says what to do.
constexpr char const* kCheckModule{R"(import sys
try:
    from tenon.plugin_check import command
except ImportError as problem:
    sys.exit(f"error: {sys.executable} has no package tenon ({problem}), which checks Python modules: "
             "name an interpreter that has it by --python")
command())"};

//! A Python module is checked by Python, with the same host.
[[noreturn]] void checkModule(CheckOptions const& options)
{
    std::vector<std::string> command{pythonWith("tenon", options.python), "-c", kCheckModule, options.library};
    for (auto const& [name, value] : {std::pair{"--creator", &options.creator}, std::pair{"--fields", &options.fields},
             std::pair{"--shapes", &options.shapes}, std::pair{"--types", &options.types}})
        if (!value->empty())
            command.insert(command.end(), {name, *value});
    command.insert(
        command.end(), {"--seed", std::to_string(options.seed), "--seconds", std::to_string(options.seconds)});
    for (auto const& [name, isSet] : {std::pair{"--in-process", options.inProcess},
             std::pair{"--no-empty", options.withoutEmpties}, std::pair{"--json", options.json}})
        if (isSet)
            command.push_back(name);
    become(command, "; Python modules are checked by Python with the package tenon: name its interpreter by --python");
}

PluginFieldCollection const* fieldNamesOf(IPluginCreatorInterface& creator, std::string const& generation)
{
    if (generation == "V2")
        return static_cast<nvinfer1::IPluginCreator&>(creator).getFieldNames();
    if (generation == "V3")
        return static_cast<nvinfer1::IPluginCreatorV3One&>(creator).getFieldNames();
    return static_cast<nvinfer1::IPluginCreatorV3Quick&>(creator).getFieldNames();
}

void printFindings(Json const& report, std::string const& shapes)
{
    Json const& plugin = report["plugin"];
    std::printf("'%s' version '%s' namespace '%s' (%s), inputs %s: %s combinations, %s runs\n",
        plugin["name"].get<std::string>().c_str(), plugin["version"].get<std::string>().c_str(),
        plugin["namespace"].get<std::string>().c_str(), plugin["generation"].get<std::string>().c_str(), shapes.c_str(),
        report["combinations"].dump().c_str(), report["runs"].dump().c_str());
    for (Json const& note : report["notes"])
        std::printf("  note: %s\n", note.get<std::string>().c_str());
    for (Json const& each : report["findings"])
    {
        std::string const rule = each["rule"].get<std::string>();
        std::printf("  %s: %s%s\n    %s\n    to do: %s\n", each["callback"].get<std::string>().c_str(),
            each["check"].get<std::string>().c_str(), rule.empty() ? "" : (", rule " + rule).c_str(),
            each["what"].get<std::string>().c_str(), each["change"].get<std::string>().c_str());
    }
    if (report["findings"].empty())
        std::printf("  nothing found\n");
}

//! Which of how many creators is checked.
struct Turn
{
    size_t creator{0};
    size_t creators{1};
    bool isQuiet{false};
};

//! \return whether nothing was found.
bool checkCreator(Json const& listed, CheckOptions const& options, Turn const& turn, Json& all)
{
    auto const text = [&](char const* key) { return listed[key].get<std::string>(); };
    std::string const nameSpace = text("namespace");
    IPluginCreatorInterface* const creator =
        getPluginRegistry()->getCreator(text("name").c_str(), text("version").c_str(), nameSpace.c_str());
    if (creator == nullptr)
        throw std::runtime_error("the creator '" + text("name") + "' has gone");
    Fields const fields{options.fields, fieldNamesOf(*creator, text("generation"))};
    std::string const shapes = options.shapes.empty() ? kUsualShape : options.shapes;
    testing::Options wanted;
    wanted.inputs = parseInputs(shapes);
    wanted.types = parseTypes(options.types);
    wanted.seed = options.seed;
    wanted.seconds = options.seconds;
    wanted.isolated = !options.inProcess;
    wanted.empties = !options.withoutEmpties;
    wanted.nameSpace = nameSpace;
    auto bar = std::make_unique<ProgressBar>(!turn.isQuiet, "Checking " + text("name"));
    wanted.onGroup = [&](char const* group, int32_t done, int32_t groups) {
        Count const count{
            static_cast<int64_t>(turn.creator) * groups + done, static_cast<int64_t>(turn.creators) * groups};
        bar->advance(text("name") + ": " + group, count);
    };
    testing::Report const report = testing::check(*creator, wanted, fields.collection());
    bar.reset();
    if (report.json().empty())
        throw std::runtime_error(report.message());
    all.push_back(Json::parse(report.json()));
    if (!options.json)
        printFindings(all.back(), shapes);
    return report.ok();
}

//! The creators of a library, or all that are registered; loads what is to be listed.
Json creatorsOf(std::string const& library)
{
    TenonText problem{nullptr};
    if (!library.empty())
    {
        if (!std::filesystem::exists(library))
            throw std::runtime_error("there is no file '" + library + "'");
        std::string const path = std::filesystem::absolute(library).string();
        Json const before = parsed(tenonInspectPlugins(&problem), problem);
        bool const isListed = getPluginRegistry()->loadLibrary(path.c_str()) != nullptr;
        Json const all = parsed(tenonInspectPlugins(&problem), problem);
        Json mine = Json::array();
        for (Json const& each : all) // Libraries list their creators, or register them themselves when they are opened.
            if (each["library"] == path || std::find(before.begin(), before.end(), each) == before.end())
                mine.push_back(each);
        if (!isListed && mine.empty())
            throw std::runtime_error("'" + library
                + "' cannot be loaded as a library of plugins: the lines above say "
                  "why");
        return mine;
    }
    initLibNvInferPlugins(getLogger(), "");
    return parsed(tenonInspectPlugins(&problem), problem);
}

int check(CheckOptions const& options, bool isQuiet)
{
    bool const isModule = options.library.ends_with(".py") || std::filesystem::is_directory(options.library)
        || !std::filesystem::exists(options.library);
    bool const isStock = options.library == kStock;
    if (isModule && !isStock)
        checkModule(options);
    CreatorName const wanted = parseCreator(options.creator);
    if (isStock && wanted.name.empty())
        throw std::invalid_argument("name the stock plugin by --creator NAME; tenon plugin list stock lists them");
    Json reports = Json::array();
    bool isSound{true};
    std::vector<Json> chosen;
    for (Json const& each : creatorsOf(isStock ? "" : options.library))
        if (wanted.fits(each["name"].get<std::string>(), each["version"].get<std::string>(),
                each["namespace"].get<std::string>()))
            chosen.push_back(each);
    for (size_t i = 0; i < chosen.size(); ++i)
        isSound = checkCreator(chosen[i], options, {i, chosen.size(), isQuiet}, reports) && isSound;
    if (reports.empty())
        throw std::runtime_error("'" + options.library + "' has no creator '" + options.creator
            + "'; tenon plugin list " + options.library + " lists those it has");
    if (options.json)
        std::printf("%s\n", reports.dump(2).c_str());
    return isSound ? 0 : 1;
}

int list(std::string const& library, bool json)
{
    Json const all = creatorsOf(library == kStock ? "" : library);
    if (json)
        std::printf("%s\n", all.dump(2).c_str());
    for (Json const& each : all)
    {
        if (json)
            break;
        std::string fields;
        for (Json const& field : each["fields"])
            fields += (fields.empty() ? "" : ", ") + field["name"].get<std::string>() + " "
                + field["type"].get<std::string>();
        std::printf("%-36s version %-3s namespace '%s'  %-9s %s\n", each["name"].get<std::string>().c_str(),
            each["version"].get<std::string>().c_str(), each["namespace"].get<std::string>().c_str(),
            each["generation"].get<std::string>().c_str(), fields.c_str());
    }
    return 0;
}

//! Runs a program with the trace of plugins on; a model or plan is run by this program itself.
[[noreturn]] void trace(std::string const& output, std::vector<std::string> command)
{
    bool const isOurs = command[0].ends_with(".plan") || command[0].ends_with(".onnx");
    if (isOurs)
        command.insert(command.begin(), {std::filesystem::read_symlink("/proc/self/exe").string(), "run"});
    std::FILE* const file = std::fopen(output.c_str(), "a");
    if (file == nullptr)
        throw std::runtime_error("'" + output + "' cannot be opened: " + std::strerror(errno));
    std::fclose(file);
    setenv("TENON_PLUGIN_TRACE", output.c_str(), 1);
    become(command, "");
}

void addCheck(CLI::App& group, Common const& common, int& status)
{
    auto options = std::make_shared<CheckOptions>();
    CLI::App* command = group.add_subcommand("check", "Run plugins under a checking host, without a network");
    command->add_option("library", options->library, "A shared library, a Python module or .py file, or: stock")
        ->required();
    command->add_option("--creator", options->creator, "NAME[:VERSION[:NAMESPACE]]; without it all of the library");
    command->add_option("--fields", options->fields, "name=value,name=1:2:3 in the types that the creator advertises");
    command->add_option("--shapes", options->shapes,
        "Inputs in order, joined by commas: 2x3x8, MIN:OPT:MAX, or values=3x1 for a shape input ("
            + std::string{kUsualShape} + ")");
    command->add_option("--types", options->types, "Element types to offer, joined by commas (all)");
    command->add_option("--seed", options->seed, "For random inputs");
    command->add_option("--seconds", options->seconds, "At most, for each group of checks")
        ->check(CLI::Range(1, 86400));
    command->add_option("--python", options->python,
        "The interpreter that checks Python modules (the first with the package tenon: python3, or one near this "
        "program)");
    command->add_flag("--in-process", options->inProcess, "Without child processes: a crash ends the program");
    command->add_flag("--no-empty", options->withoutEmpties, "Without tensors that have no elements");
    command->add_flag("--json", options->json, "Print the reports as JSON");
    command->footer(R"(Example:
  tenon plugin check libpad.so --creator CircPad:1 --fields before=1:2,after=3:1 --shapes 1x3x8x8:2x3x8x8:4x3x8x8
Each finding names the callback, the rule (docs/PLUGINS) and what to change. Exit status 1: something was found. Each group
of checks has a process of its own, so that a crash is a finding, too.)");
    command->callback([options, &common, &status] {
        Logger logger{common.severity()};
        std::signal(SIGINT, SIG_DFL); // A callback that hangs looks at no flag, and nothing is half written here.
        status = check(*options, common.quiet);
    });
}
} // namespace

void addPlugin(CLI::App& app, Common const& common, int& status)
{
    CLI::App* group = app.add_subcommand("plugin", "Check, list and trace custom layers");
    group->require_subcommand(1);
    group->footer(R"(Examples:
  tenon plugin check libpad.so --creator CircPad:1
  tenon plugin list stock
  tenon plugin trace model.plan
More on each: tenon plugin check --help)");
    addCheck(*group, common, status);
    auto library = std::make_shared<std::string>();
    auto json = std::make_shared<bool>(false);
    CLI::App* lists = group->add_subcommand("list", "List the creators of a library, or the stock plugins");
    lists->add_option("library", *library, "A shared library of plugins, or: stock, as without any");
    lists->add_flag("--json", *json, "Print everything as JSON");
    lists->footer(R"(Example:
  tenon plugin list libpad.so
A line for each creator: name, version, namespace, generation, and the fields that it takes.)");
    lists->callback([library, json, &status] { status = list(*library, *json); });
    auto output = std::make_shared<std::string>("/dev/stderr");
    CLI::App* traces = group->add_subcommand("trace", "Run a program and write down each call that plugins get");
    traces->add_option("-o,--output", *output, "File that the calls are appended to (standard error)");
    traces->fallthrough(false);
    traces->prefix_command();
    traces->footer(R"(Example:
  tenon plugin trace -o calls.txt python train.py
  tenon plugin trace model.plan --shapes x=2x3x8x8     as: tenon run model.plan …
Each line: object, phase of its life, thread, callback, arguments, answer, time, reason. The same as TENON_PLUGIN_TRACE.)");
    traces->callback([output, traces] {
        if (traces->remaining().empty())
            throw std::invalid_argument("tenon plugin trace wants a program to run, or a plan");
        trace(*output, traces->remaining());
    });
}

} // namespace tenon::cli
