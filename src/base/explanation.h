// Explanations: why a callback of the user's is about to fail, kept per thread until the message about its failure.
#pragma once

#include <string>

namespace tenon
{

//! From inside a callback that is about to fail: the message of its failure ends with this.
void explain(std::string why);

//! What was explained last in this thread, once.
std::string takeExplanation();

//! Drops it: of a callback that did not fail, or whose failure is nobody's.
void forgetExplanation() noexcept;

//! ": why", for messages about what a callback answered; empty where it gave no reason.
std::string because();

} // namespace tenon
