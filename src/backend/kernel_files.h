// What the files of kernels of a backend offer, taken together.
#pragma once

#include "backend/candidate.h"

#include <span>
#include <vector>

namespace tenon
{

//! In order of the files.
template <typename File>
std::vector<Candidate> candidatesOf(std::span<File const> files)
{
    std::vector<Candidate> candidates;
    for (File const& file : files)
        candidates.insert(candidates.end(), file.candidates.begin(), file.candidates.end());
    return candidates;
}

} // namespace tenon
