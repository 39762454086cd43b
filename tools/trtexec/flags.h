// Flags: all that the trtexec of TensorRT 10.16 and of 8.6 has, and what becomes of each here.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tenon::trtexec
{

enum class Section
{
    kModel,
    kBuild,
    kSystem,
    kInference,
    kReporting,
    kFormer, //!< Scripts that were written for releases before 10 still have them.
    kHelp,
};

enum class Fate
{
    kWorks,     //!< Also where the engine itself refuses it.
    kIdle,      //!< Nothing to do here; the program says why when it is given.
    kIdleOnCpu, //!< The same on a CPU; on a GPU it works.
    kRefused,   //!< The program fails and says why.
};

struct Flag
{
    std::string_view name;
    std::string_view value; //!< Its form; empty: a switch.
    Section section;
    std::string_view meaning;
    Fate fate{Fate::kWorks};
    std::string_view why{}; //!< Of a flag that does not work.
    bool isRepeatable{false};
};

std::span<Flag const> flags();
//! Null: there is none of that name.
Flag const* findFlag(std::string_view name);
//! What --help prints.
std::string helpText();

} // namespace tenon::trtexec
