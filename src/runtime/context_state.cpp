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

void ContextState::writeRunKey(RunShapes const& asked, ShapeKey& key) const
{
    key.clear();
    key.push_back(engine.loaded()->generation);
    key.push_back(asked.inputs.profile());
    key.push_back(asked.threads);
    key.push_back(asked.apart ? 1 : 0);
    for (nvinfer1::Dims64 const& each : asked.inputs.dims())
        key.insert(key.end(), each.d, each.d + each.nbDims);
    for (size_t i = 0; i < asked.symbols.size(); ++i)
        if (engine.program->symbols[i].kind == PlanSymbolKind::kInputValue)
            key.push_back(asked.symbols[i].lo);
}

Result<std::shared_ptr<PreparedRun const>> ContextState::findRun(RunShapes const& asked, ShapeKey const& key) const
{
    TENON_TRY(asked.inputs.checkValues(asked.symbols));
    auto found = engine.runs.find(key);
    if (found != nullptr)
        return found;
    auto made = TENON_TRY(prepareRun(engine, key, asked));
    size_t const bytes = made->bytes();
    ShapeKey madeFor = made->key; // A refit may have come between.
    return engine.runs.insert(std::move(madeFor), std::move(made), bytes);
}

Result<std::shared_ptr<PreparedRun const>> ContextState::runFor(InputShapes const& given) const
{
    std::vector<Span> symbols(engine.program->symbols.size());
    given.findSymbols(bindings.addresses(), symbols);
    RunShapes const asked{given, symbols, host.threads};
    ShapeKey key;
    writeRunKey(asked, key);
    return findRun(asked, key);
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
