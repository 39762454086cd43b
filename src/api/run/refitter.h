// Refitter: collects new weights for an engine, and puts them into it.
#pragma once

#include "api/handle.h"
#include "api/not_implemented.h"
#include "api/run/cuda_engine.h"
#include "api/run/refit_plan.h"

#include <map>

namespace tenon::api
{

class Refitter final : public nvinfer1::apiv::VRefitter, public Fronted<nvinfer1::IRefitter, Refitter>
{
  public:
    using Weights = nvinfer1::Weights;
    using Role = nvinfer1::WeightsRole;
    using Location = nvinfer1::TensorLocation;

    Refitter(std::shared_ptr<CudaEngine> engine, nvinfer1::ILogger& logger);
    ~Refitter() override;

    nvinfer1::IRefitter* getPImpl() noexcept override;
    bool setWeights(char const* layerName, Role role, Weights weights) noexcept override;
    bool refitCudaEngine() noexcept override;
    int32_t getMissing(int32_t size, char const** layerNames, Role* roles) noexcept override;
    int32_t getAll(int32_t size, char const** layerNames, Role* roles) noexcept override;
    bool setDynamicRange(char const* tensorName, float min, float max) noexcept override;
    float getDynamicRangeMin(char const* tensorName) const noexcept override;
    float getDynamicRangeMax(char const* tensorName) const noexcept override;
    int32_t getTensorsWithDynamicRange(int32_t size, char const** tensorNames) const noexcept override;
    void setErrorRecorder(nvinfer1::IErrorRecorder* recorder) noexcept override;
    nvinfer1::IErrorRecorder* getErrorRecorder() const noexcept override;
    bool setNamedWeights(char const* name, Weights weights) noexcept override;
    int32_t getMissingWeights(int32_t size, char const** weightsNames) noexcept override;
    int32_t getAllWeights(int32_t size, char const** weightsNames) noexcept override;
    nvinfer1::ILogger* getLogger() const noexcept override;
    bool setMaxThreads(int32_t maxThreads) noexcept override;
    int32_t getMaxThreads() const noexcept override;
    bool setNamedWeightsWithLocation(char const* name, Weights weights, Location location) noexcept override;
    Weights getNamedWeights(char const* weightsName) const noexcept override;
    Location getWeightsLocation(char const* weightsName) const noexcept override;
    bool unsetNamedWeights(char const* weightsName) noexcept override;
    void setWeightsValidation(bool weightsValidation) noexcept override;
    bool getWeightsValidation() const noexcept override;
    bool refitCudaEngineAsync(cudaStream_t stream) noexcept override;
    Weights getWeightsPrototype(char const* weightsName) const noexcept override;

  private:
    struct Supplied
    {
        Weights weights;
        Location location{Location::kHOST};
    };
    PlanRefit const& refit() const noexcept;
    Result<int32_t> named(char const* name) const;
    Result<int32_t> used(char const* layer, Role role) const;
    Result<Done> supply(int32_t number, Weights const& weights, Location location);
    //! The supplied values, copied: they may change or go when the call has returned.
    Result<GivenWeights> given() const;
    std::vector<int32_t> missing() const;
    Result<Done> refitNow();
    int32_t listUses(std::vector<int32_t> const& numbers, int32_t size, char const** layerNames, Role* roles) const;
    int32_t listNames(std::vector<int32_t> const& numbers, int32_t size, char const** names) const;
    std::vector<int32_t> all() const;

    std::shared_ptr<CudaEngine> mEngine;
    Reporting mReporting;
    std::map<int32_t, Supplied> mSupplied; //!< By entry of the plan's list.
    int32_t mMaxThreads{0};                //!< 0: not set (rule B9).
    bool mValidates{true};
};

//! Null, with the reason reported, for an engine that cannot be refitted (rule U9).
nvinfer1::IRefitter* makeRefitter(nvinfer1::ICudaEngine* engine, nvinfer1::ILogger& logger) noexcept;

} // namespace tenon::api
