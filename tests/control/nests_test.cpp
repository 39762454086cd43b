// Random nests of loops and conditionals against the same nest in plain C++.
#include "fixture.h"

#include <cmath>

namespace apitest
{

namespace nests
{

using Vector = std::array<double, 3>;

//! A value of three elements: computed, chosen or repeated. Variables are numbered from outside in.
struct Term
{
    enum class Kind : uint8_t
    {
        kVariable,
        kConstant,
        kPair,   //!< `operation` of two terms, halved.
        kChoice, //!< Term 1 where the sum of term 0 is below `limit`, else term 2.
        kLoop,   //!< Term 1 repeated from term 0 on, `rounds` times, while the sum is below `limit` if there is one.
    };
    Kind kind{Kind::kVariable};
    int32_t variable{0};
    Vector constant{};
    ElementWiseOperation operation{};
    double limit{0.0};
    bool isLimited{false};
    int64_t rounds{0};
    std::vector<Term> terms;
};

class Generator
{
  public:
    explicit Generator(uint32_t seed)
        : mRandom{seed}
    {
    }
    Term term(int32_t variables, int32_t depth)
    {
        switch (depth <= 0 ? upTo(2) : upTo(7))
        {
        case 0: return {.variable = upTo(variables)};
        case 1: return {.kind = Term::Kind::kConstant, .constant = {eighths(), eighths(), eighths()}};
        case 2:
        case 3:
        {
            constexpr std::array kOperations{ElementWiseOperation::kSUM, ElementWiseOperation::kSUB,
                ElementWiseOperation::kMIN, ElementWiseOperation::kMAX};
            return {.kind = Term::Kind::kPair,
                .operation = kOperations[static_cast<size_t>(upTo(4))],
                .terms = {term(variables, depth - 1), term(variables, depth - 1)}};
        }
        case 4:
            return {.kind = Term::Kind::kChoice,
                .limit = eighths() + 0.0123,
                .terms = {term(variables, depth - 1), term(variables, depth - 1), term(variables, depth - 1)}};
        default:
            return {.kind = Term::Kind::kLoop,
                .limit = eighths() + 0.0123,
                .isLimited = upTo(2) == 0,
                .rounds = upTo(5),
                .terms = {term(variables, depth - 1), term(variables + 1, depth - 1)}};
        }
    }

  private:
    int32_t upTo(int32_t most)
    {
        return static_cast<int32_t>(mRandom() % static_cast<uint32_t>(most));
    }
    double eighths()
    {
        return (upTo(65) - 32) / 8.0;
    }
    std::mt19937 mRandom;
};

double sumOf(Vector const& x)
{
    return x[0] + x[1] + x[2];
}

Vector valueOf(Term const& term, std::vector<Vector>& variables)
{
    switch (term.kind)
    {
    case Term::Kind::kVariable: return variables[static_cast<size_t>(term.variable)];
    case Term::Kind::kConstant: return term.constant;
    case Term::Kind::kPair:
    {
        Vector const a = valueOf(term.terms[0], variables);
        Vector const b = valueOf(term.terms[1], variables);
        Vector result{};
        for (size_t i = 0; i < 3; ++i)
            switch (term.operation)
            {
            case ElementWiseOperation::kSUM: result[i] = (a[i] + b[i]) / 2; break;
            case ElementWiseOperation::kSUB: result[i] = (a[i] - b[i]) / 2; break;
            case ElementWiseOperation::kMIN: result[i] = std::min(a[i], b[i]) / 2; break;
            default: result[i] = std::max(a[i], b[i]) / 2; break;
            }
        return result;
    }
    case Term::Kind::kChoice:
        return valueOf(term.terms[sumOf(valueOf(term.terms[0], variables)) < term.limit ? 1 : 2], variables);
    default: break;
    }
    Vector state = valueOf(term.terms[0], variables);
    for (int64_t i = 0; i < term.rounds && (!term.isLimited || sumOf(state) < term.limit); ++i)
    {
        variables.push_back(state);
        state = valueOf(term.terms[1], variables);
        variables.pop_back();
    }
    return state;
}

} // namespace nests

class Nests : public ControlTest
{
  protected:
    ITensor* below(ITensor* x, double limit)
    {
        ITensor* sum = network->addReduce(*x, ReduceOperation::kSUM, 1U, false)->getOutput(0);
        return add(sum, floats({}, {static_cast<float>(limit)}), ElementWiseOperation::kLESS);
    }
    ITensor* emit(nests::Term const& term, std::vector<ITensor*> const& variables)
    {
        using Kind = nests::Term::Kind;
        switch (term.kind)
        {
        case Kind::kVariable: return variables[static_cast<size_t>(term.variable)];
        case Kind::kConstant: return floats({3}, {term.constant.begin(), term.constant.end()});
        case Kind::kPair:
            return add(add(emit(term.terms[0], variables), emit(term.terms[1], variables), term.operation),
                floats({1}, {0.5F}), ElementWiseOperation::kPROD);
        case Kind::kChoice: return emitChoice(term, variables);
        default: return emitLoop(term, variables);
        }
    }

  private:
    ITensor* emitChoice(nests::Term const& term, std::vector<ITensor*> const& variables)
    {
        IIfConditional* choice = network->addIfConditional();
        choice->setCondition(*below(emit(term.terms[0], variables), term.limit));
        std::vector<ITensor*> inside;
        for (ITensor* each : variables)
            inside.push_back(choice->addInput(*each)->getOutput(0));
        ITensor* yes = emit(term.terms[1], inside);
        return choice->addOutput(*yes, *emit(term.terms[2], inside))->getOutput(0);
    }
    ITensor* emitLoop(nests::Term const& term, std::vector<ITensor*> const& variables)
    {
        ILoop* loop = network->addLoop();
        loop->addTripLimit(*integer(term.rounds), TripLimit::kCOUNT);
        IRecurrenceLayer* state = loop->addRecurrence(*emit(term.terms[0], variables));
        if (term.isLimited)
            loop->addTripLimit(*below(state->getOutput(0), term.limit), TripLimit::kWHILE);
        std::vector<ITensor*> inside{variables};
        inside.push_back(state->getOutput(0));
        state->setInput(1, *emit(term.terms[1], inside));
        return loop->addLoopOutput(*state->getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0);
    }
};

class RandomNests : public Nests, public ::testing::WithParamInterface<uint32_t>
{
};

TEST_P(RandomNests, E17_E20_giveWhatPlainLoopsGive)
{
    nests::Term const term = nests::Generator{GetParam()}.term(2, 6);
    ITensor* x = input("x", {3});
    ITensor* w = input("w", {3});
    ITensor* y = network->addIdentity(*emit(term, {x, w}))->getOutput(0);
    mark(add(add(y, x), w), "y");
    ASSERT_TRUE(build()) << logger.errors();
    for (int32_t run = 0; run < 4; ++run)
    {
        nests::Vector const a{run - 1.5, 2.0 - run, 0.25 * run};
        nests::Vector const b{0.5, -run / 4.0, 1.0 - run};
        std::vector<nests::Vector> variables{a, b};
        nests::Vector const want = nests::valueOf(term, variables);
        auto const got = results({{"x", {{3}, {a.begin(), a.end()}}}, {"w", {{3}, {b.begin(), b.end()}}}})["y"];
        ASSERT_EQ(got.values.size(), 3U);
        for (size_t i = 0; i < 3; ++i)
            EXPECT_NEAR(got.values[i], want[i] + a[i] + b[i], 1e-4) << "run " << run << ", element " << i;
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomNests, ::testing::Range(0U, 80U));

} // namespace apitest
