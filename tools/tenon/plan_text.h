// What a plan or a model is made of, printed for people.
#pragma once

#include "texts.h"

#include <string>

namespace tenon::cli
{

struct PlanText
{
    bool hasSteps{true};         //!< Else how many steps each kernel has.
    bool hasAllDecisions{false}; //!< Else how often each reason occurred.
};

//! The value as the program shows it; null is empty.
std::string jsonText(Json const& value);
//! The file's name, and the network's where it has one.
std::string titleOf(Json const& json, std::string const& path);

void printPlan(Json const& plan, std::string const& path, PlanText const& wanted);
void printNetwork(Json const& network, std::string const& path);

} // namespace tenon::cli
