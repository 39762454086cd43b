// nvrtc_check LIBRARY FILE: has the real compiler translate a kernel for the oldest and for a new architecture; prints
// its objections and fails when it has any. Without the library there are none. Kernels of ours may begin while others
// end, so that the new architecture's code must wait for those on every way to a store and to its end, and read nothing
// through the read-only cache.
#include <cstdio>
#include <dlfcn.h>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace
{
//! Instructions of a kernel as PTX, and where its labels stand among them.
struct Ptx
{
    std::vector<std::string> steps;
    std::map<std::string, size_t> labels;

    explicit Ptx(std::string const& kernel)
    {
        std::istringstream lines{kernel.substr(kernel.find('{'))};
        for (std::string line; std::getline(lines, line);)
        {
            line = line.substr(0, line.find("//"));
            size_t const label = line.find(':');
            if (line.rfind('$', 0) == 0 && label != std::string::npos)
                labels[line.substr(0, label)] = steps.size();
            else
                add(line);
        }
    }

  private:
    void add(std::string const& line)
    {
        constexpr char kAround[]{" \t{}"};
        std::istringstream parts{line};
        for (std::string part; std::getline(parts, part, ';');)
            if (size_t const first = part.find_first_not_of(kAround); first != std::string::npos && part[first] != '.')
                steps.push_back(part.substr(first, part.find_last_not_of(kAround) - first + 1));
    }
};

bool startsWith(std::string const& text, char const* start)
{
    return text.rfind(start, 0) == 0;
}

//! Whether an instruction writes what another kernel may read.
bool isStore(std::string const& step)
{
    bool const isBulk = startsWith(step, "cp.async.bulk") && step.find(".global.shared::cta") != std::string::npos;
    bool const isPlain = startsWith(step, "st.") || startsWith(step, "red.") || startsWith(step, "atom.");
    bool const isOwn =
        step.find(".shared") != std::string::npos || startsWith(step, "st.local") || startsWith(step, "st.param");
    return isBulk || (isPlain && !isOwn);
}

//! A store, or the end, that a kernel comes to by a way without a wait for former kernels; empty: there is none. Ways
//! are those of branches, whatever their conditions.
std::string withoutWait(std::string const& kernel)
{
    Ptx const code{kernel};
    std::set<size_t> seen;
    std::vector<size_t> open{0};
    while (!open.empty())
    {
        size_t const at = open.back();
        open.pop_back();
        if (at >= code.steps.size() || !seen.insert(at).second)
            continue;
        std::string step = code.steps[at];
        bool const isConditional = step.front() == '@';
        if (isConditional)
            step = step.substr(step.find_first_not_of(" \t", step.find_first_of(" \t")));
        if (startsWith(step, "griddepcontrol.wait"))
            continue;
        if (isStore(step) || startsWith(step, "ret") || startsWith(step, "exit"))
            return step;
        bool const isBranch = startsWith(step, "bra");
        if (isBranch)
            open.push_back(code.labels.at(step.substr(step.find('$'))));
        if (!isBranch || isConditional)
            open.push_back(at + 1);
    }
    return {};
}

//! Registers that an instruction names, the one first that most write.
std::vector<std::string> registersOf(std::string const& step)
{
    std::vector<std::string> found;
    for (size_t at = step.find('%'); at != std::string::npos; at = step.find('%', at + 1))
        found.push_back(step.substr(at, step.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789", at + 1) - at));
    return found;
}

//! A read through the read-only cache of what somebody may have written; empty: there is none. The compiler's own
//! tables, of sine and cosine, are read so, too: what their addresses are made of was neither given nor loaded.
std::string readWithoutCoherence(std::string const& kernel)
{
    Ptx const code{kernel};
    std::multimap<std::string, std::string> writers;
    for (std::string const& step : code.steps)
        if (std::vector<std::string> const own = registersOf(step); !own.empty())
            writers.emplace(own.front(), step);
    for (std::string const& read : code.steps)
    {
        if (read.find("ld.global.nc") == std::string::npos)
            continue;
        std::set<std::string> seen;
        std::vector<std::string> open = registersOf(read.substr(read.find('[')));
        while (!open.empty())
        {
            std::string const name = open.back();
            open.pop_back();
            if (!seen.insert(name).second)
                continue;
            for (auto [each, end] = writers.equal_range(name); each != end; ++each)
            {
                if (startsWith(each->second, "ld."))
                    return read;
                for (std::string const& from : registersOf(each->second))
                    open.push_back(from);
            }
        }
    }
    return {};
}

//! What is wrong with the code of kernels that may begin while others end; empty: nothing.
std::string objectionTo(std::string const& code)
{
    constexpr char kEntry[]{".entry "};
    for (size_t at = code.find(kEntry); at != std::string::npos;)
    {
        size_t const next = code.find(kEntry, at + 1);
        std::string const kernel = code.substr(at, next - at);
        for (char const* const instruction : {"griddepcontrol.launch_dependents", "griddepcontrol.wait"})
            if (kernel.find(instruction) == std::string::npos)
                return "without " + std::string{instruction} + ": " + kernel.substr(0, kernel.find('('));
        if (std::string const step = readWithoutCoherence(kernel); !step.empty())
            return kernel.substr(0, kernel.find('('))
                + " reads through the read-only cache what former kernels may still" + " write: " + step;
        if (std::string const step = withoutWait(kernel); !step.empty())
            return kernel.substr(0, kernel.find('(')) + " comes to '" + step
                + "' by a way without a wait for former kernels";
        at = next;
    }
    return {};
}

//! What the compiler has to say of a program: its code or its log.
std::string textOf(void* program, void* library, char const* size, char const* get)
{
    size_t bytes{0};
    reinterpret_cast<int (*)(void*, size_t*)>(dlsym(library, size))(program, &bytes);
    std::string text(bytes, '\0');
    reinterpret_cast<int (*)(void*, char*)>(dlsym(library, get))(program, text.data());
    return text;
}
} // namespace

int main(int count, char** arguments)
{
    void* const library = count == 3 ? dlopen(arguments[1], RTLD_NOW) : nullptr;
    if (library == nullptr)
        return 0;
    auto const create =
        reinterpret_cast<int (*)(void**, char const*, char const*, int, char const* const*, char const* const*)>(
            dlsym(library, "nvrtcCreateProgram"));
    auto const compile =
        reinterpret_cast<int (*)(void*, int, char const* const*)>(dlsym(library, "nvrtcCompileProgram"));
    std::ifstream in{arguments[2]};
    std::ostringstream text;
    text << in.rdbuf();
    bool const isOurs = text.str().find("awaitFormer()") != std::string::npos;
    int failures{0};
    for (char const* const architecture : {"--gpu-architecture=sm_90a", "--gpu-architecture=compute_75"})
    {
        void* program{nullptr};
        char const* const options[]{architecture, "--std=c++17", "-default-device"};
        std::string objection;
        if (create(&program, text.str().c_str(), "kernel.cu", 0, nullptr, nullptr) != 0
            || compile(program, 3, options) != 0)
            objection = textOf(program, library, "nvrtcGetProgramLogSize", "nvrtcGetProgramLog");
        else if (std::string const code = textOf(program, library, "nvrtcGetPTXSize", "nvrtcGetPTX");
                 isOurs && code.find(".target sm_90a") != std::string::npos)
            objection = objectionTo(code);
        else
            continue;
        if (objection.empty())
            continue;
        ++failures;
        std::printf("%s\n%s\n", architecture, objection.c_str());
    }
    return failures;
}
