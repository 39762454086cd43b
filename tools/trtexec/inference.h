// Inference: lanes over an engine, driven for as long as the options say.
#pragma once

#include "lane.h"

#include <deque>
#include <vector>

namespace tenon::trtexec
{

class MeasuringClock;

class Inference
{
  public:
    //! Makes and prepares the lanes. Throws std::runtime_error or std::invalid_argument.
    Inference(nvinfer1::ICudaEngine& engine, InferenceOptions const& options, Log& log);

    //! Runs queries; throws std::runtime_error where one failed. Interrupted, it returns early.
    void measure();
    //! Of the last measure(), by their start.
    std::vector<QueryTimes> times() const;

    Lane& first()
    {
        return mLanes.front();
    }
    void useGraphs();

  private:
    void drive(std::vector<Lane*> const& lanes, MeasuringClock const& clock);

    nvinfer1::ICudaEngine const* mEngine;
    InferenceOptions const* mOptions;
    Log* mLog;
    std::deque<Lane> mLanes;
};

//! Shapes of the inputs by the options, of those which they name.
cli::Shapes inputShapes(nvinfer1::ICudaEngine const& engine, InferenceOptions const& options);
//! Contents of the inputs that the options name: files, and values of shape tensors. Throws std::invalid_argument.
cli::GivenInputs inputContents(
    nvinfer1::ICudaEngine const& engine, InferenceOptions const& options, cli::Shapes const& shapes);

} // namespace tenon::trtexec
