// The command line program: options that all subcommands share, signals, and exit statuses.
#include "commands.h"
#include "session.h"

#include <cerrno>
#include <csignal>
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
  tenon verify model.plan           each step against the reference
  tenon plugin check libpad.so      a library of custom layers, without a network

Exit status: 0 done, 1 failed, 2 wrong usage, 130 interrupted. The environment's switches: tenon knobs.)";

//! The first Ctrl-C asks builds and loops to stop cleanly; the second one ends the program at once.
extern "C" void onInterrupt(int)
{
    gInterrupted = true;
    std::signal(SIGINT, SIG_DFL);
}

std::string versionText()
{
    int32_t const api = getInferLibVersion();
    char text[96];
    std::snprintf(
        text, sizeof(text), "tenon " TENON_VERSION " (TensorRT API %d.%d.%d)", api / 10000, api / 100 % 100, api % 100);
    return text;
}

int32_t registeredCreators()
{
    int32_t count{0};
    getPluginRegistry()->getAllCreators(&count);
    return count;
}

//! Libraries list their creators, or register them themselves when they are opened; those stay open (loadLibrary).
void loadPlugins(std::vector<std::string> const& paths)
{
    for (std::string const& path : paths)
    {
        int32_t const before = registeredCreators();
        if (getPluginRegistry()->loadLibrary(path.c_str()) != nullptr)
            continue;
        if (registeredCreators() == before)
            throw std::runtime_error(
                "'" + path + "' cannot be loaded as a library of plugins: the lines above say why");
        std::fprintf(stderr, "tenon: '%s' has registered its plugins itself; they are used\n", path.c_str());
    }
}

int parse(CLI::App& app, int argc, char** argv)
{
    try
    {
        app.parse(argc, argv);
    }
    catch (CLI::ParseError const& error)
    {
        std::vector<std::string> const unknown = app.remaining();
        if (app.get_subcommands().empty() && !unknown.empty() && unknown.front().front() != '-')
        {
            std::fprintf(stderr, "tenon: there is no command '%s'; see tenon --help\n", unknown.front().c_str());
            return kUsageStatus;
        }
        return app.exit(error) == 0 ? 0 : kUsageStatus;
    }
    return 0;
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
        std::fprintf(stderr, "tenon: %s\n", error.what());
        return kUsageStatus;
    }
    catch (std::exception const& error)
    {
        if (!gInterrupted)
            std::fprintf(stderr, "tenon: %s\n", error.what());
        return 1;
    }
}
} // namespace

int main(int argc, char** argv)
{
    std::signal(SIGINT, onInterrupt);
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
    addVerify(app, common, status);
    addPlugin(app, common, status);
    addKnobs(app, status);
    addApi(app, status);
    int const result = guarded(app, argc, argv, status);
    bool const isWritten = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
    if (!isWritten)
        std::fprintf(stderr, "tenon: what was to be printed could not be written: %s\n", std::strerror(errno));
    if (!gInterrupted)
        return isWritten || result != 0 ? result : 1;
    ProgressBar::clearLine();
    std::fprintf(stderr, "tenon: interrupted\n");
    return kInterruptedStatus;
}

} // namespace tenon::cli

int main(int argc, char** argv)
{
    return tenon::cli::main(argc, argv);
}
