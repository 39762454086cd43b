// Machine: what measured times depend on, as text.
#pragma once

#include <cstdint>
#include <string>

namespace tenon::cli
{

//! Model of the CPU.
std::string cpuName();
//! Threads that runs use: `asked`, unless it is 0; else what TENON_THREADS or the machine gives.
int32_t threadsOfRuns(int32_t asked);
//! The device that runs are on: "cpu".
std::string deviceName();
//! Resident memory of this process in MiB, from the kernel.
double residentMebibytes();

} // namespace tenon::cli
