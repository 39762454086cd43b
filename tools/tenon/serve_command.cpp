// tenon serve: hands over to the Python distribution that serves plans, in this very process.
#include "commands.h"
#include "python.h"
#include "texts.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>

#include <unistd.h>

namespace tenon::cli
{

namespace
{
constexpr char const* kPackage{"tenon.serving"};

int serve(std::vector<std::string> const& words, std::string const& chosen, Common const& common)
{
    std::string const python = pythonWith(kPackage, chosen);
    if (!hasPackage(python, kPackage))
        throw std::runtime_error("serve: " + python + " has no package " + kPackage
            + "; install it: pip install './python/serving_distribution[server]' beside tenon, or name another "
              "interpreter with --python");
    if (common.threads > 0)
        setenv("TENON_THREADS", std::to_string(common.threads).c_str(), 1);
    std::vector<std::string> command{python, "-m", kPackage};
    if (common.allowsCode)
        command.push_back("--allow-code");
    command.insert(command.end(), words.begin(), words.end());
    std::vector<char*> arguments;
    for (std::string& each : command)
        arguments.push_back(each.data());
    arguments.push_back(nullptr);
    execvp(arguments[0], arguments.data());
    throw std::runtime_error("serve: '" + python + "' does not start: " + std::strerror(errno));
}
} // namespace

void addServe(CLI::App& app, Common const& common, int& status)
{
    CLI::App* command = app.add_subcommand("serve", "Serve a plan over HTTP and gRPC (Open Inference Protocol)");
    auto const python = std::make_shared<std::string>();
    command->add_option("--python", *python, "The interpreter that has tenon-serving; in front of the plan");
    command->fallthrough(false);
    command->prefix_command(); // From the plan on all words are the server's.
    command->footer(R"(Example:
  tenon serve model.plan --port 8000 --grpc-port 8001 --max-batch 8 --max-wait-ms 2 --contexts 2
  tenon serve model.plan --help     the server's own options
It needs the Python distribution tenon-serving with its server: docs/SERVING.md.)");
    command->callback([command, python, &common, &status] { status = serve(command->remaining(), *python, common); });
}

} // namespace tenon::cli
