// FileKind: what a file is that somebody took for a model or a plan, by how it begins.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace tenon
{

//! "a ZIP archive: …", with what to do about it; empty: nothing known. What looks like an ONNX model may be one or not:
//! `wantsModel` is for whoever could not read it as one.
std::string kindOfFile(std::span<uint8_t const> bytes, bool wantsModel);

} // namespace tenon
