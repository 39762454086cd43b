// TacticSources: libraries are known by the names of their candidates. Other sources are kinds of kernels in upstream's
// own library, of which there are none here.
#include "api/build/tactic_sources.h"

#include "NvInfer.h"

#include <string_view>

namespace tenon::api
{

namespace
{
constexpr uint32_t bitOf(nvinfer1::TacticSource source)
{
    return 1U << static_cast<uint32_t>(source);
}

struct Library
{
    std::string_view candidate;
    uint32_t sources; //!< One of them allows it.
};

using enum nvinfer1::TacticSource;
constexpr Library kLibraries[]{{"cublaslt", bitOf(kCUBLAS) | bitOf(kCUBLAS_LT)},
    {"patches", bitOf(kCUBLAS) | bitOf(kCUBLAS_LT)}, {"cudnn", bitOf(kCUDNN)}};
} // namespace

Result<std::vector<size_t>> TacticSources::select(Problem const& problem, std::vector<Offer> const& offers)
{
    std::vector<size_t> positions;
    std::vector<Offer> kept;
    for (size_t i = 0; i < offers.size(); ++i)
    {
        bool isAllowed{true};
        for (Library const& library : kLibraries)
            isAllowed = isAllowed && (offers[i].candidate != library.candidate || (mAllowed & library.sources) != 0);
        if (!isAllowed)
            continue;
        positions.push_back(i);
        kept.push_back(offers[i]);
    }
    if (kept.empty())
        return badConfig("[layer '{}'] only {} has a kernel for it, which IBuilderConfig::setTacticSources leaves out",
            problem.node->name, offers.front().candidate);
    if (mNext == nullptr)
        return positions;
    std::vector<size_t> selected;
    for (size_t const at : TENON_TRY(mNext->select(problem, kept)))
        selected.push_back(positions.at(at));
    return selected;
}

void TacticSources::take(Problem const& problem, Offer const& offer)
{
    if (mNext != nullptr)
        mNext->take(problem, offer);
}

} // namespace tenon::api
