// A plan as pictures: one page for a browser, which needs nothing else, and a graph in the language of Graphviz.
#pragma once

#include "texts.h"

#include <string>

namespace tenon::cli
{

//! `plan` as tenonInspectPlan() tells it, `network` as tenonInspectNetwork() does (null: not known), `times` as
//! {"cpu", "threads", "runs", "steps" {name: milliseconds}} (null: not measured).
std::string planPage(Json const& plan, Json const& network, Json const& times);

//! Steps as boxes, tensors that go from one to another as edges: input of the program `dot`.
std::string planDot(Json const& plan);

} // namespace tenon::cli
