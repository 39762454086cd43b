// buildKernels: one piece of work per choice.
#include "planner/build_kernels.h"

#include "planner/guarded.h"
#include "planner/side_by_side.h"

namespace tenon::planner
{

Result<KernelSpec> buildKernel(KernelRequest const& request, Node const& node, Offer const& offer)
{
    std::optional<KernelSpec> spec;
    Result<Done> made = guarded(request.graph, node, [&]() -> Result<Done> {
        Problem const problem{&request.graph, &node, request.typical, &request.target};
        spec = TENON_TRY(request.backend.build(problem, offer));
        return Done{};
    });
    std::string const label = fmt::format("[layer '{}']", node.name);
    if (!made)
        return made.error().message.starts_with(label) ? std::move(made).error() : std::move(made).error().in(label);
    return *std::move(spec);
}

Result<Kernels> buildKernels(
    KernelRequest const& request, Choices const& choices, Needed const& needed, std::function<bool()> const& afterNode)
{
    std::vector<Choice> const& all = choices.all();
    Kernels kernels(all.size()); // Each entry is one thread's.
    TENON_TRY(sideBySide({.count = all.size(),
        .threads = request.threads,
        .work = [&](size_t index) -> Result<Done> {
            Choice const& choice = all[index];
            bool const runs = needed.nodes[static_cast<size_t>(choice.node)] && !choice.offer().isView;
            if (runs && request.graph.node(choice.node).layer->bodies().empty())
                kernels[index] = TENON_TRY(buildKernel(request, request.graph.node(choice.node), choice.offer()));
            return Done{};
        },
        .afterPiece = afterNode}));
    return kernels;
}

} // namespace tenon::planner
