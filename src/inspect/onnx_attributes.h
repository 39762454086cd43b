// Attributes of an ONNX node: texts, numbers, and the fields of a layer as its own text tells them.
#pragma once

#include "inspect/wire_message.h"

#include <string>
#include <string_view>
#include <vector>

namespace tenon::inspect
{

void addAttribute(WireMessage& node, std::string const& name, std::string const& value);
void addAttribute(WireMessage& node, std::string const& name, std::vector<std::string> const& values);
void addAttribute(WireMessage& node, std::string const& name, float value);

//! One for each field of "NbGroups=2, StrideNd=(2,2), …": whole numbers and lists of them as such, else as texts.
void addFieldAttributes(WireMessage& node, std::string_view fields);

} // namespace tenon::inspect
