// Peer: a line with seconds goes to the process, a line with times comes back.
#include "peer.h"

#include <csignal>
#include <cstdlib>
#include <stdexcept>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tenon::cli
{

namespace
{
constexpr char const* kProgram{
#include "peer.inc"
};

Json shapesJson(Shapes const& shapes)
{
    Json json = Json::object();
    for (auto const& [name, range] : shapes)
        json[name] = std::vector<int64_t>(range.opt.d, range.opt.d + range.opt.nbDims);
    return json;
}
} // namespace

std::vector<std::string> const& Peer::all()
{
    static std::vector<std::string> const names{"onnxruntime", "openvino", "torch"};
    return names;
}

Child::Child(std::vector<std::string> const& command)
{
    std::vector<char*> arguments;
    for (std::string const& each : command)
        arguments.push_back(const_cast<char*>(each.c_str()));
    arguments.push_back(nullptr);
    int in[2];
    int out[2];
    if (pipe2(in, O_CLOEXEC) != 0)
        throw std::runtime_error("no pipe to '" + command[0] + "'");
    if (pipe2(out, O_CLOEXEC) != 0)
    {
        close(in[0]);
        close(in[1]);
        throw std::runtime_error("no pipe from '" + command[0] + "'");
    }
    std::fflush(stdout);
    mProcess = fork();
    if (mProcess == 0)
    {
        dup2(in[0], STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        execvp(arguments[0], arguments.data());
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    mIn = fdopen(in[1], "w");
    mOut = fdopen(out[0], "r");
    std::signal(SIGPIPE, SIG_IGN); // One that has ended shows in what is read.
}

Child::~Child()
{
    std::fclose(mIn);
    std::fclose(mOut);
    if (mProcess > 0)
    {
        kill(mProcess, SIGTERM);
        waitpid(mProcess, nullptr, 0);
    }
}

void Child::write(std::string const& line)
{
    std::fprintf(mIn, "%s\n", line.c_str());
    std::fflush(mIn);
}

std::string Child::readLine()
{
    char* line{nullptr};
    size_t room{0};
    ssize_t const length = getline(&line, &room, mOut);
    std::string text{line == nullptr ? "" : line, length > 0 ? static_cast<size_t>(length) : 0};
    std::free(line);
    return text;
}

Peer::Peer(std::string const& engine, std::string const& python, std::string const& model, Shapes const& shapes,
    int32_t threads)
    : mEngine{engine},
      mChild{{python, "-c", kProgram, engine, model, std::to_string(threads), shapesJson(shapes).dump()}}
{
    Json const ready = answer();
    if (ready.contains("error"))
        throw std::runtime_error(engine + ": " + shownMessage(ready["error"].get<std::string>()));
    mName = engine + " " + shownName(ready["version"].get<std::string>());
}

Json Peer::answer()
{
    Json json = Json::parse(mChild.readLine(), nullptr, false);
    if (json.is_discarded())
        throw std::runtime_error(mEngine + ": its process has ended, or said what is no answer");
    return json;
}

std::vector<double> Peer::run(double seconds)
{
    mChild.write(std::to_string(seconds));
    return answer().get<std::vector<double>>();
}

} // namespace tenon::cli
