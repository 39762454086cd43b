// Verification: a run of an engine whose every step is compared with the reference on the step's own inputs.
#pragma once

#include "backend/backend_table.h"
#include "inspect/step_reference.h"
#include "runtime/engine.h"

#include <functional>
#include <vector>

namespace tenon::inspect
{

struct VerifyInput
{
    std::string name;
    void const* data{nullptr};             //!< Null: random.
    std::optional<nvinfer1::Dims64> shape; //!< None: kOPT of profile 0.
};

struct VerifyOptions
{
    double absolute{0.0}; //!< With `relative` 0, too: by element type.
    double relative{0.0};
    uint32_t seed{1};
    bool firstOnly{false};
    std::function<bool(int32_t done, int32_t steps)> progress{}; //!< Asked after each step; false ends it.
};

struct Divergence
{
    int32_t step{-1};
    std::string layer;
    int32_t output{0};
    int64_t index{0};
    double got{0.0};
    double want{0.0};
};

struct VerifiedStep
{
    std::string name;
    std::string layer;
    std::string why; //!< Empty: it was compared.
    bool ok{true};
    double maxError{0.0};
    double worst{0.0}; //!< Largest error in units of its tolerance.
};

struct VerifyReport
{
    std::vector<ValueOutOfRange> outOfRange; //!< Of each step the first one.
    std::vector<VerifiedStep> steps;
    std::optional<Divergence> first;
};

//! `backend` is that of the engine's device.
Result<VerifyReport> verifyEngine(std::shared_ptr<Engine> engine, BackendEntry const& backend,
    std::vector<VerifyInput> const& inputs, VerifyOptions const& options);

} // namespace tenon::inspect
