// Peer: another engine that runs the same model, in a Python process of its own (peer.py).
#pragma once

#include "shapes.h"
#include "texts.h"

#include <cstdio>
#include <string>
#include <vector>

#include <sys/types.h>

namespace tenon::cli
{

//! A process with pipes to its standard input and from its standard output; ended when this ends.
class Child
{
  public:
    //! Throws std::runtime_error.
    explicit Child(std::vector<std::string> const& command);
    ~Child();
    Child(Child const&) = delete;
    Child& operator=(Child const&) = delete;

    void write(std::string const& line);
    //! Empty when there is none any more.
    std::string readLine();

  private:
    pid_t mProcess{-1};
    FILE* mIn{nullptr};
    FILE* mOut{nullptr};
};

class Peer
{
  public:
    //! Those that there are.
    static std::vector<std::string> const& all();
    //! Starts the engine ("onnxruntime"), reads the model and warms up. Throws std::runtime_error, which says why it
    //! cannot.
    Peer(std::string const& engine, std::string const& python, std::string const& model, Shapes const& shapes,
        int32_t threads);

    //! With its version.
    std::string const& name() const
    {
        return mName;
    }
    //! Milliseconds of all runs within the time, one at least.
    std::vector<double> run(double seconds);

  private:
    Json answer();

    std::string mEngine;
    std::string mName;
    Child mChild;
};

} // namespace tenon::cli
