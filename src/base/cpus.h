// Cpus: how many this process may use, by affinity and by the quotas of its control groups.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace tenon
{

//! CPUs that the process may use: those of its affinity, no more than its quota pays for (a part counts as one), at
//! least 1.
int32_t usableCpus() noexcept;
//! The smallest quota, in CPUs, among the control group of this process and all above it, of both versions; none: no
//! limit. `root` is where /proc and the mounted hierarchies are looked for.
std::optional<double> cpuQuota(std::filesystem::path const& root = "/");

} // namespace tenon
