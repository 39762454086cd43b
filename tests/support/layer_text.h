// Layer text: a layer from the text of its fields, for graphs that are written down.
#pragma once

#include "ir/text.h"

namespace tenon
{

//! "name=value, …}": the fields in the form in which graphs print them.
Result<LayerPtr> parseLayer(std::string_view kind, std::string_view fields);

} // namespace tenon
