// AlgorithmChoice: the user's algorithm selector, asked for each layer and told what became of it.
#pragma once

#include "api/not_implemented.h"
#include "planner/offer_chooser.h"

#include "NvInfer.h"

#include <memory>
#include <vector>

namespace tenon::api
{

class AlgorithmOf;
class AlgorithmContextOf;

class AlgorithmChoice final : public OfferChooser
{
  public:
    //! `rejectsEmpty`: a selector that selects nothing fails the build, instead of leaving the choice to it.
    AlgorithmChoice(nvinfer1::IAlgorithmSelector& selector, bool isTimed, bool rejectsEmpty);
    ~AlgorithmChoice() override;
    Result<std::vector<size_t>> select(Problem const& problem, std::vector<Offer> const& offers) override;
    void take(Problem const& problem, Offer const& offer) override;
    //! Tells the selector of all that was taken.
    void report() const;

  private:
    nvinfer1::IAlgorithmSelector& mSelector;
    bool mIsTimed; //!< Costs are times.
    bool mRejectsEmpty;
    std::vector<std::unique_ptr<AlgorithmContextOf>> mContexts;
    std::vector<std::unique_ptr<AlgorithmOf>> mTaken;
};

} // namespace tenon::api
