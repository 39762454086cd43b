// The groups of checks. An error that no finding tells yet becomes one of its own.
#pragma once

#include "plugins/check/bench.h"

namespace tenon::plugins::check
{

struct Group
{
    char const* name;
    Result<Done> (*check)(Host& host);
};

Result<Done> checkNames(Host& host);    //!< Identity, interfaces, fields of the creator.
Result<Done> checkObjects(Host& host);  //!< clone() and attachToContext() give new objects.
Result<Done> checkShapes(Host& host);   //!< Outputs, shape expressions, types.
Result<Done> checkFormats(Host& host);  //!< Format questions.
Result<Done> checkClones(Host& host);   //!< Clones carry everything.
Result<Done> checkLives(Host& host);    //!< Ends of one object leave the others alone.
Result<Done> checkStore(Host& host);    //!< Serialization and back.
Result<Done> checkRuns(Host& host);     //!< Every combination at every point.
Result<Done> checkTactics(Host& host);  //!< Every tactic.
Result<Done> checkEmpties(Host& host);  //!< Tensors without elements.
Result<Done> checkContexts(Host& host); //!< Contexts at other shapes, and in two threads.
Result<Done> checkGpu(Host& host);      //!< enqueue() on a GPU beside the body for the CPU.

std::vector<Group> const& allGroups();

//! A plugin that is ready in its first combination, its copy for a context, and what that computes at kOPT.
struct Scene
{
    Form form;
    std::vector<Combination> combinations;
    Ready ready;
};
Result<Scene> setScene(Host& host);

} // namespace tenon::plugins::check
