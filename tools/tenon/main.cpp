// The command line program: options that all subcommands share, signals, and exit statuses.
#include "commands.h"
#include "crash.h"
#include "interruption.h"
#include "plugin_libraries.h"
#include "progress_bar.h"
#include "suggestion.h"
#include "texts.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <stdexcept>

namespace tenon::cli
{

namespace
{
constexpr int kUsageStatus{2};

constexpr char const* kExamples = R"(Examples:
  tenon build model.onnx -o model.plan --shapes input=1x3x224x224:8x3x224x224:32x3x224x224
  tenon run model.plan --input input=picture.npy --outputs results
  tenon bench model.plan --shapes input=4x3x224x224 --threads 2
  tenon inspect model.plan          what became of the model, and why
  tenon convert model.plan -o optimized.onnx    for Netron
  tenon verify model.plan           each step against the reference
  tenon serve model.plan --port 8000
  tenon plugin check libpad.so      a library of custom layers, without a network

Exit status: 0 done, 1 failed, 2 wrong usage, 130 interrupted. The environment's switches: tenon knobs.)";

std::string versionText()
{
    int32_t const api = getInferLibVersion();
    char text[96];
    std::snprintf(
        text, sizeof(text), "tenon " TENON_VERSION " (TensorRT API %d.%d.%d)", api / 10000, api / 100 % 100, api % 100);
    return text;
}

std::vector<std::string> commandsOf(CLI::App const& app)
{
    std::vector<std::string> names;
    for (CLI::App const* command : app.get_subcommands(nullptr))
        names.push_back(command->get_name());
    return names;
}

std::vector<std::string> optionsOf(CLI::App const& app)
{
    std::vector<std::string> names;
    for (CLI::Option const* option : app.get_options())
        for (std::string const& name : option->get_lnames())
            names.push_back("--" + name);
    return names;
}

//! The innermost command that was named, and all whose options hold for it.
CLI::App const& innermost(CLI::App const& app, std::vector<std::string>& options)
{
    std::vector<std::string> const own = optionsOf(app);
    options.insert(options.end(), own.begin(), own.end());
    std::vector<CLI::App*> const named = app.get_subcommands();
    return named.empty() ? app : innermost(*named.back(), options);
}

//! What stands on the command line and nobody knows; empty: that is not what is wrong.
std::string unknownWord(CLI::App const& app)
{
    std::vector<std::string> const unknown = app.remaining(true);
    if (unknown.empty())
        return {};
    std::string const word = unknown.front().substr(0, unknown.front().find('='));
    std::vector<std::string> options;
    CLI::App const& command = innermost(app, options);
    std::string const path = &command == &app ? "" : " " + command.get_name();
    std::vector<std::string> const commands = commandsOf(command);
    if (word.front() == '-')
        return "there is no option '" + word + "'" + (path.empty() ? "" : " of" + path) + "."
            + suggestion(word, options);
    if (!commands.empty())
        return "there is no command '" + word + "'" + (path.empty() ? "" : " of" + path) + "."
            + suggestion(word, commands);
    return {};
}

int parse(CLI::App& app, int argc, char** argv)
{
    try
    {
        app.parse(argc, argv);
    }
    catch (CLI::ParseError const& error)
    {
        if (std::string const unknown = unknownWord(app); error.get_exit_code() != 0 && !unknown.empty())
        {
            std::fprintf(stderr, "tenon: %s See tenon --help\n", shownMessage(unknown).c_str());
            return kUsageStatus;
        }
        return app.exit(error) == 0 ? 0 : kUsageStatus;
    }
    return 0;
}

//! `help build` asks for what `build --help` gives, `help` for all commands.
std::vector<char*> withoutHelpWord(CLI::App const& app, int argc, char** argv)
{
    static char option[]{"--help"};
    std::vector<char*> words{argv, argv + argc};
    if (argc > 1 && std::string_view{argv[1]} == "help")
    {
        words.erase(words.begin() + 1);
        std::vector<std::string> const commands = commandsOf(app);
        if (argc == 2 || std::ranges::find(commands, argv[2]) != commands.end()) // Else that word is what is wrong.
            words.push_back(option);
    }
    return words;
}

int guarded(CLI::App& app, int argc, char** argv, int& status)
{
    try
    {
        int const usage = parse(app, argc, argv);
        return usage != 0 ? usage : status;
    }
    catch (std::invalid_argument const& error) // A value on the command line that makes no sense.
    {
        std::fprintf(stderr, "tenon: %s\n", shownMessage(error.what()).c_str());
        return kUsageStatus;
    }
    catch (std::bad_alloc const&)
    {
        std::fprintf(stderr, "tenon: out of memory\n");
        return 1;
    }
    catch (std::exception const& error)
    {
        if (!gInterrupted)
            std::fprintf(stderr, "tenon: %s\n", shownMessage(error.what()).c_str());
        return 1;
    }
}
} // namespace

int main(int argc, char** argv)
{
    listenForInterruption();
    listenForCrashes();
    CLI::App app{"Tenon builds ONNX models into plans, runs, measures, explains and checks them.", "tenon"};
    app.set_version_flag("--version", versionText);
    app.footer(kExamples);
    app.require_subcommand(1);
    app.fallthrough(); // The shared options may stand behind the subcommand as well.
    Common common;
    app.add_option("--threads", common.threads, "CPU threads of builds and runs (TENON_THREADS, else all)")
        ->check(CLI::Range(1, 4096));
    auto* verbose = app.add_flag("-v,--verbose", common.verbose, "Show each decision of a build");
    app.add_flag("-q,--quiet", common.quiet, "Show errors only")->excludes(verbose);
    app.add_flag("--allow-code", common.allowsCode, "Let code that a plan carries (kernels of plugins) run here");
    app.add_option_function<std::vector<std::string>>("--plugins", loadPlugins, "Libraries of plugins to load first")
        ->allow_extra_args(false)
        ->trigger_on_parse();
    int status{0};
    addBuild(app, common, status);
    addRun(app, common, status);
    addBench(app, common, status);
    addInspect(app, common, status);
    addConvert(app, common, status);
    addVerify(app, common, status);
    addServe(app, common, status);
    addPlugin(app, common, status);
    addKnobs(app, status);
    addApi(app, status);
    if (argc == 1)
    {
        std::printf("%s", app.help().c_str());
        return kUsageStatus;
    }
    std::vector<char*> words = withoutHelpWord(app, argc, argv);
    int const result = guarded(app, static_cast<int>(words.size()), words.data(), status);
    bool const isWritten = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
    if (!isWritten)
        std::fprintf(stderr, "tenon: what was to be printed could not be written: %s\n", std::strerror(errno));
    bool const isTraced = take(tenonTraceProblem()).empty(); // The library has said what is wrong.
    if (!gInterrupted)
        return (isWritten && isTraced) || result != 0 ? result : 1;
    sayInterrupted();
    return kInterruptedStatus;
}

} // namespace tenon::cli

int main(int argc, char** argv)
{
    return tenon::cli::main(argc, argv);
}
