// KernelLibraries: asking the backend about the kernels of all steps.
#include "api/build/kernel_libraries.h"

#include <set>

namespace tenon::api
{

std::string librariesOf(Program const& program, BackendEntry const& backend)
{
    std::set<std::string> all;
    if (backend.libraryOf != nullptr)
        for (PlanStep const& step : program.steps)
            if (std::string library = backend.libraryOf(step.kernel); !library.empty())
                all.insert(std::move(library));
    return fmt::format("{}", fmt::join(all, ", "));
}

void warnOfLibraries(Program const& program, BackendEntry const& backend, Log const& log)
{
    if (program.libraries.empty())
        return;
    if (std::string const here = librariesOf(program, backend); here != program.libraries)
        log.warning(
            fmt::format("the plan chose kernels of {}, and of these there is {} here: others take their places, "
                        "which may be slower; build it with the libraries that are to run it",
                program.libraries, here.empty() ? "none" : here));
}

} // namespace tenon::api
