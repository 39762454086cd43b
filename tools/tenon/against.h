// Against: the tensors of a network beside those of its ONNX model in ONNX Runtime (tenon verify --against).
#pragma once

#include "commands.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tenon::cli
{

struct AgainstOptions
{
    std::string path;
    std::string engine; //!< "onnxruntime".
    std::string python; //!< Empty: the first interpreter that has the engine.
    std::vector<std::string> shapes;
    std::vector<std::string> inputs;
    std::optional<double> absolute;
    std::optional<double> relative;
    std::optional<uint32_t> seed;
    bool firstOnly{false};
    bool json{false};
};

//! The exit status: 1 where a node differs.
int verifyAgainst(AgainstOptions const& options, Common const& common);

} // namespace tenon::cli
