// ContextState: the choice of a prepared run.
#include "runtime/context_state.h"

#include "runtime/context_runner.h"

namespace tenon
{

ContextState::ContextState(std::shared_ptr<Engine> parent, MemoryStrategy strategy)
    : owner{std::move(parent)},
      engine{owner->state()},
      log{owner->log()},
      host{engine.threads},
      shapes{engine},
      bindings{engine},
      memory{engine, strategy},
      attached{engine, log.recorder()},
      aux{engine.device()},
      frames{*this},
      use{frames},
      runner{std::make_unique<ContextRunner>(*this)}
{
}

ContextState::~ContextState() = default;

void ContextState::writeRunKey(bool apart, std::span<Span const> symbols, ShapeKey& key) const
{
    key.clear();
    key.push_back(engine.loaded()->generation);
    key.push_back(shapes.profile());
    key.push_back(host.threads);
    key.push_back(apart ? 1 : 0);
    for (nvinfer1::Dims64 const& each : shapes.dims())
        key.insert(key.end(), each.d, each.d + each.nbDims);
    for (size_t i = 0; i < symbols.size(); ++i)
        if (engine.program->symbols[i].kind == PlanSymbolKind::kInputValue)
            key.push_back(symbols[i].lo);
}

Result<std::shared_ptr<PreparedRun const>> ContextState::findRun(
    bool apart, std::span<Span const> symbols, ShapeKey const& key) const
{
    TENON_TRY(shapes.checkValues(symbols));
    auto found = engine.runs.find(key);
    if (found != nullptr)
        return found;
    auto made = TENON_TRY(prepareRun(engine, key, {shapes.profile(), host.threads, apart, shapes.dims(), symbols}));
    size_t const bytes = made->bytes();
    ShapeKey madeFor = made->key; // A refit may have come between.
    return engine.runs.insert(std::move(madeFor), std::move(made), bytes);
}

Result<std::shared_ptr<PreparedRun const>> ContextState::runNow() const
{
    std::vector<Span> symbols(engine.program->symbols.size());
    shapes.findSymbols(bindings.addresses(), symbols);
    ShapeKey key;
    writeRunKey(false, symbols, key);
    return findRun(false, symbols, key);
}

Error ContextState::isBusy()
{
    return errorOf(ErrorCode::kINVALID_STATE,
        "the context is running: until that call returns, its callbacks and other threads can ask the context, but "
        "neither run it nor change its profile, memory, allocators or values of shape tensors");
}

Result<ContextUse::Held> ContextState::takeToChange()
{
    TENON_TRY(attached.checkCaller());
    ContextUse::Held held = use.takeToChange();
    if (held == nullptr)
        return isBusy();
    return held;
}

} // namespace tenon
