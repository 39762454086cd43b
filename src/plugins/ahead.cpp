// Ahead: source is compiled, objects are taken as they are, code for other devices is refused.
#include "plugins/ahead.h"

#include "plugins/kernel_code.h"

namespace tenon::plugins
{

namespace
{
//! What only devices run is for them to check.
CodeForm formOf(ByteView code, std::string_view device) noexcept
{
    if (device != "cuda" || kindOf(code) != CodeKind::kDevice)
        return CodeForm::kHostObject;
    return isPtx(code) ? CodeForm::kPtx : CodeForm::kDeviceBinary;
}

Result<Bytes> objectOf(AheadKernel& kernel, std::string_view device)
{
    switch (kindOf(kernel.code))
    {
    case CodeKind::kSource: return compileC(kernel.code);
    case CodeKind::kObject: return std::move(kernel.code);
    case CodeKind::kOtherMachine:
        return badConfig(
            "the code that it gives for kernel '{}' is no shared object for this machine, or not the whole of one",
            kernel.name);
    case CodeKind::kDevice:
        return badConfig("the code that it gives for kernel '{}' is for CUDA devices, and this network is built for "
                         "device '{}', whose kernels are C source or a shared object",
            kernel.name, device);
    case CodeKind::kUnknown: break;
    }
    return badConfig(
        "the code that it gives for kernel '{}' is neither C source nor a shared object, which device '{}' runs",
        kernel.name, device);
}

Result<Compiled> compile(
    Plugin& plugin, std::span<Shape const> inputs, Ports const& ports, int32_t tactic, std::string_view device)
{
    PluginPtr const copy = TENON_TRY(plugin.clone());
    TENON_TRY(copy->configure(ports));
    TENON_TRY(copy->setTactic(tactic));
    LaunchSymbols const symbols{inputs};
    AheadKernel asked = TENON_TRY(copy->kernel(symbols.shapes(), ports));
    std::vector<ShapeExpr> numbers{asked.extents.begin(), asked.extents.end()};
    numbers.push_back(asked.sharedBytes);
    numbers.insert(numbers.end(), asked.arguments.begin(), asked.arguments.end());
    Compiled compiled;
    compiled.kernel.name = asked.name;
    compiled.kernel.launch = TENON_TRY(symbols.compile(numbers));
    compiled.kernel.form = formOf(asked.code, device);
    if (compiled.kernel.form != CodeForm::kHostObject)
    {
        compiled.object = std::move(asked.code);
        return compiled;
    }
    compiled.object = TENON_TRY(objectOf(asked, device));
    auto const loaded = TENON_TRY(KernelCode::load(compiled.object)); // What does not load here loads nowhere.
    TENON_TRY(loaded->function(compiled.kernel.name));
    return compiled;
}
} // namespace

Result<Compiled> compileAhead(
    Plugin& plugin, std::span<Shape const> inputs, Ports const& ports, int32_t tactic, std::string_view device)
{
    auto compiled = compile(plugin, inputs, ports, tactic, device);
    if (!compiled)
        return std::move(compiled).error().in("plugin " + plugin.identity().show());
    return compiled;
}

} // namespace tenon::plugins
