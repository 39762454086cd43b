// Tally: what became of mutated plans, and how far they came.
#pragma once

#include "plan/plan.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace tenon::test
{

struct Tally
{
    uint64_t mutations{0};
    uint64_t resealed{0}; //!< With checksums that fit.
    uint64_t pastSchema{0};
    uint64_t loaded{0};
    uint64_t ran{0};
    uint64_t verified{0}; //!< Of those that ran: verification came to an answer.

    void print() const
    {
        std::printf("%lu plans, %lu resealed, %lu past the schema, %lu loaded, %lu ran, %lu verified\n", mutations,
            resealed, pastSchema, loaded, ran, verified);
    }
};

inline uint64_t numberFrom(char const* variable, uint64_t standard)
{
    char const* const text = std::getenv(variable);
    return text == nullptr ? standard : std::strtoull(text, nullptr, 10);
}

//! Why readPlan refuses the blob; empty when it does not.
inline std::string reasonAgainst(ByteView blob)
{
    Result<Plan> const plan = readPlan(blob, nullptr);
    return plan ? std::string{} : plan.error().message;
}

//! Damage that header, checksums or schema see; all else got past the schema.
inline bool isOuterDamage(std::string const& reason)
{
    return reason.starts_with("not a plan") || reason.starts_with("plan is damaged: ")
        || reason.starts_with("plan format") || reason.starts_with("plan has a section")
        || reason.find("bytes are left where") != std::string::npos;
}

} // namespace tenon::test
