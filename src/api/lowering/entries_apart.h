// What keeps the entries of a batch apart (BuilderFlag::kDISTRIBUTIVE_INDEPENDENCE).
#pragma once

#include "ir/graph.h"

#include <string>
#include <vector>

namespace tenon::api
{

//! Has each layer compute an entry as if it were alone, to the last bit. Kernels do so by themselves, except where the
//! number of entries decides between ways of computing that round differently. An error for what cannot promise it.
Result<Done> keepEntriesApart(Graph& graph);
//! Rules of the optimization that may not run then.
std::vector<std::string> rulesThatJoinEntries();

} // namespace tenon::api
