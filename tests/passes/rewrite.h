// Before/after tests of rules: the rewritten graph is the expected text, and computes what it computed before.
#pragma once

#include "ir/fusion_limits.h"
#include "ir/graph.h"

#include <string>
#include <string_view>

namespace tenon::test
{

//! A device that can do everything, in every floating type.
FusionLimits generousLimits();

//! Runs one rule (or the whole pipeline when the name is empty) on `before`; the result must print as `after` does, and
//! give the same outputs on random inputs.
void expectRewrite(std::string_view rule, std::string_view before, std::string_view after,
    FusionLimits const& limits = generousLimits());
//! The rule leaves the graph alone.
void expectUnchanged(std::string_view rule, std::string_view before, FusionLimits const& limits = generousLimits());
//! The same for graphs whose values are drawn anew in each run: only the text is compared.
void expectSkipped(std::string_view rule, std::string_view before);
//! The rule leaves no layer of the kind, and the graph gives the same outputs on random inputs.
void expectGone(std::string_view rule, std::string_view before, std::string_view kind,
    FusionLimits const& limits = generousLimits());
//! Text with numbered values; fails the test when it does not parse.
std::string normalForm(std::string_view text);
Graph parsed(std::string_view text);

} // namespace tenon::test
