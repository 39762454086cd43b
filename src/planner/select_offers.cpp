// Selection: each node takes an offer so that kernels and the reorders between them cost little together.
//
// The sum is improved from the cheapest offer of each node on by two moves until neither helps: one node takes another
// offer, or a connected group of nodes goes over to one layout (chains of cheap layers between two convolutions would
// otherwise stay where no single one gains by moving).
#include "planner/choices.h"

#include "base/cancellation.h"
#include "planner/symbols.h"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <set>

namespace tenon::planner
{

namespace
{
constexpr double kLeastGain{1e-6};
constexpr int32_t kMaxRounds{16};

struct OperandRead
{
    size_t choice;
    size_t operand;
};

class Selector
{
  public:
    Selector(Graph const& graph, Target const& target, Homes const& homes, SeamCosts const& seams, Choices& choices)
        : mGraph{graph},
          mTarget{target},
          mChoices{choices.all()},
          mProducer(graph.valueCount(), -1),
          mUses(graph.valueCount()),
          mWanted(graph.valueCount()),
          mHomes{homes},
          mSeams{seams},
          mOutputHomes(graph.valueCount())
    {
        for (size_t i = 0; i < graph.outputs().size(); ++i)
            mOutputHomes[static_cast<size_t>(graph.outputs()[i].value)].push_back(homes.outputs[i]);
        for (size_t i = 0; i < mChoices.size(); ++i)
        {
            cancellationPoint();
            Node const& node = graph.node(mChoices[i].node);
            for (ValueId const output : node.outputs)
                mProducer[static_cast<size_t>(output)] = static_cast<int32_t>(i);
            for (size_t k = 0; k < node.inputs.size(); ++k)
                if (isPlaced(node.inputs[k]))
                    mUses[static_cast<size_t>(node.inputs[k])].push_back({i, k});
        }
    }

    void run()
    {
        for (size_t i = 0; i < mChoices.size(); ++i)
        {
            cancellationPoint();
            mChoices[i].selected = cheapest(mChoices[i]);
            countWanted(i, 1);
        }
        for (int32_t round = 0; round < kMaxRounds; ++round)
        {
            bool moved = moveSingles();
            moved = moveGroups() || moved;
            if (!moved)
                return;
        }
    }

  private:
    bool isPlaced(ValueId value) const
    {
        return value != kNone && mGraph.constantOf(value) == nullptr;
    }
    static size_t cheapest(Choice const& choice)
    {
        size_t best{0};
        for (size_t i = 1; i < choice.offers.size(); ++i)
            if (choice.offers[i].cost < choice.offers[best].cost - kLeastGain)
                best = i;
        return best;
    }
    //! One entry per layout that the value is wanted in, or has.
    using Layouts = std::array<bool, kLayoutCount>;
    struct Produced
    {
        Layout layout{Layout::kLinear};
        Place place{Place::kDevice};
        bool isEverywhere{false}; //!< Known values are written where they are wanted.
    };

    Produced producedAs(ValueId value) const
    {
        int32_t const producer = mProducer[static_cast<size_t>(value)];
        Home const& home = mHomes.inputs[static_cast<size_t>(value)];
        if (producer < 0 || hasKnownContents(mGraph.value(value)))
            return {home.layout, home.place, producer >= 0};
        Offer const& offer = mChoices[static_cast<size_t>(producer)].offer();
        return {offer.outputs.at(static_cast<size_t>(mGraph.value(value).outputIndex)), offer.place};
    }
    //! What copies of the value cost with the present choices: one per layout and place that some reader wants and it
    //! lacks. The device makes other layouts, and what goes across goes as it is.
    double valueCost(ValueId value) const
    {
        std::array<Layouts, kPlaceCount> wanted{};
        auto& [onDevice, onHost] = wanted;
        for (size_t place = 0; place < kPlaceCount; ++place)
        {
            for (size_t layout = 0; layout < kLayoutCount; ++layout)
                wanted[place][layout] = mWanted[static_cast<size_t>(value)][place][layout] > 0;
        }
        for (Home const& home : mOutputHomes[static_cast<size_t>(value)])
            wanted[static_cast<size_t>(home.place)][static_cast<size_t>(home.layout)] = true;
        Produced const produced = producedAs(value);
        auto const own = static_cast<size_t>(produced.layout);
        if (produced.place == Place::kHost || produced.isEverywhere)
            onHost[own] = false;
        int64_t transfers = std::ranges::count(onHost, true);
        for (size_t layout = 0; layout < kLayoutCount; ++layout)
            onDevice[layout] = onDevice[layout] || onHost[layout];
        if (produced.place == Place::kHost && !produced.isEverywhere && std::ranges::count(onDevice, true) > 0)
            ++transfers; // As it is; the device makes the rest of that.
        onDevice[own] = false;
        return mSeams.reorder[static_cast<size_t>(value)] * static_cast<double>(std::ranges::count(onDevice, true))
            + mSeams.transfer[static_cast<size_t>(value)] * static_cast<double>(transfers);
    }
    //! Adds `change` to the readers in the forms that the choice reads its operands in.
    void countWanted(size_t choice, int32_t change)
    {
        Offer const& offer = mChoices[choice].offer();
        Node const& node = mGraph.node(mChoices[choice].node);
        for (size_t k = 0; k < node.inputs.size(); ++k)
            if (isPlaced(node.inputs[k]) && !offer.isUnread(k))
                mWanted[static_cast<size_t>(node.inputs[k])][static_cast<size_t>(offer.place)]
                       [static_cast<size_t>(offer.inputs[k])] += change;
    }
    void select(size_t choice, size_t offer)
    {
        countWanted(choice, -1);
        mChoices[choice].selected = offer;
        countWanted(choice, 1);
    }
    void addValues(size_t choice, std::set<ValueId>& values) const
    {
        Node const& node = mGraph.node(mChoices[choice].node);
        for (ValueId const input : node.inputs)
            if (isPlaced(input))
                values.insert(input);
        values.insert(node.outputs.begin(), node.outputs.end());
    }
    double costAround(std::set<size_t> const& nodes, std::set<ValueId> const& values) const
    {
        double cost{0.0};
        for (size_t const i : nodes)
            cost += mChoices[i].offer().cost;
        CancellationCounter counter;
        for (ValueId const value : values)
        {
            counter.next();
            cost += valueCost(value);
        }
        return cost;
    }

    bool moveSingles()
    {
        bool any{false};
        for (size_t i = 0; i < mChoices.size(); ++i)
        {
            cancellationPoint();
            Choice const& choice = mChoices[i];
            if (choice.offers.size() < 2)
                continue;
            std::set<ValueId> values;
            addValues(i, values);
            size_t best = choice.selected;
            double bestCost = costAround({i}, values);
            for (size_t k = 0; k < choice.offers.size(); ++k)
            {
                select(i, k);
                double const cost = costAround({i}, values);
                if (cost < bestCost - kLeastGain)
                {
                    best = k;
                    bestCost = cost;
                    any = true;
                }
            }
            select(i, best);
        }
        return any;
    }

    //! The cheapest offer that reads and writes in the layout only (vectors and scalars beside it stay as they are).
    int32_t offerIn(Choice const& choice, Layout layout) const
    {
        Node const& node = mGraph.node(choice.node);
        int32_t best{-1};
        for (size_t i = 0; i < choice.offers.size(); ++i)
        {
            Offer const& offer = choice.offers[i];
            bool fits = std::all_of(offer.outputs.begin(), offer.outputs.end(), [&](Layout l) { return l == layout; });
            for (size_t k = 0; k < node.inputs.size() && fits; ++k)
                if (isPlaced(node.inputs[k]) && !offer.isUnread(k))
                    fits = offer.inputs[k] == layout || mGraph.typeOf(node.inputs[k]).rank() < 3;
            if (fits && (best < 0 || offer.cost < choice.offers[static_cast<size_t>(best)].cost - kLeastGain))
                best = static_cast<int32_t>(i);
        }
        return best;
    }
    //! The seed and all nodes reached from it over values that can go over to the layout, and have not yet.
    std::map<size_t, size_t> groupFrom(size_t seed, Layout layout) const
    {
        std::map<size_t, size_t> group; // Choice -> its offer in the layout.
        std::set<ValueId> seen;
        std::set<size_t> visited; // A node of many operands is reached over each.
        std::deque<size_t> open{seed};
        while (!open.empty())
        {
            cancellationPoint();
            size_t const at = open.front();
            open.pop_front();
            if (!visited.insert(at).second)
                continue;
            int32_t const offer = offerIn(mChoices[at], layout);
            if (offer < 0 || static_cast<size_t>(offer) == mChoices[at].selected)
                continue;
            group[at] = static_cast<size_t>(offer);
            std::set<ValueId> values;
            addValues(at, values);
            for (ValueId const value : values)
            {
                if (!seen.insert(value).second)
                    continue;
                if (mProducer[static_cast<size_t>(value)] >= 0)
                    open.push_back(static_cast<size_t>(mProducer[static_cast<size_t>(value)]));
                for (OperandRead const& use : mUses[static_cast<size_t>(value)])
                    open.push_back(use.choice);
            }
        }
        return group;
    }
    bool tryGroup(std::map<size_t, size_t> const& group)
    {
        std::set<size_t> nodes;
        std::set<ValueId> values;
        std::map<size_t, size_t> before;
        for (auto const& [choice, offer] : group)
        {
            cancellationPoint();
            nodes.insert(choice);
            addValues(choice, values);
            before[choice] = mChoices[choice].selected;
        }
        double const cost = costAround(nodes, values);
        for (auto const& [choice, offer] : group)
            select(choice, offer);
        if (costAround(nodes, values) < cost - kLeastGain)
            return true;
        for (auto const& [choice, offer] : before)
            select(choice, offer);
        return false;
    }
    bool moveGroups()
    {
        bool any{false};
        std::array<std::set<size_t>, kLayoutCount> tried;
        for (size_t i = 0; i < mChoices.size(); ++i)
            for (Layout const layout : mTarget.layouts)
            {
                cancellationPoint();
                std::set<size_t>& done = tried[static_cast<size_t>(layout)];
                if (mChoices[i].offers.size() < 2 || done.count(i) != 0)
                    continue;
                std::map<size_t, size_t> const group = groupFrom(i, layout);
                for (auto const& [choice, offer] : group)
                    done.insert(choice);
                if (group.size() > 1 && tryGroup(group))
                    any = true;
            }
        return any;
    }

    Graph const& mGraph;
    Target const& mTarget;
    std::vector<Choice>& mChoices;
    std::vector<int32_t> mProducer;
    std::vector<std::vector<OperandRead>> mUses;
    //! By value, place and layout: reads of the choices at present.
    std::vector<std::array<std::array<int32_t, kLayoutCount>, kPlaceCount>> mWanted;
    Homes const& mHomes;
    SeamCosts const& mSeams;
    std::vector<std::vector<Home>> mOutputHomes; //!< By ValueId: of the outputs that it is.
};
} // namespace

SeamCosts estimateSeams(Graph const& graph, Target const& target, std::span<int64_t const> typical)
{
    SeamCosts costs{std::vector<double>(graph.valueCount(), 0.0), std::vector<double>(graph.valueCount(), 0.0)};
    auto const add = [&](ValueId value) {
        double& cost = costs.reorder[static_cast<size_t>(value)];
        if (cost > 0.0)
            return;
        TensorType const& type = graph.typeOf(value);
        auto const bytes = static_cast<double>(bytesOf(type.dtype, type.volume().evaluate(typical)));
        cost = target.reorder.startMicroseconds + 2.0 * bytes / target.reorder.bytesPerMicrosecond;
        if (target.hasOwnMemory)
            costs.transfer[static_cast<size_t>(value)] =
                target.transfer.startMicroseconds + bytes / target.transfer.bytesPerMicrosecond;
    };
    for (NodeId const id : graph.order())
    {
        cancellationPoint();
        for (ValueId const input : graph.node(id).inputs)
            if (input != kNone)
                add(input);
    }
    for (GraphOutput const& output : graph.outputs())
        add(output.value);
    return costs;
}

bool hasKnownContents(Value const& value)
{
    if (!value.contents || value.constant != nullptr || value.producer == kNone)
        return false;
    switch (value.type.dtype)
    {
    case DType::kFLOAT:
    case DType::kINT8:
    case DType::kUINT8:
    case DType::kINT32:
    case DType::kINT64:
    case DType::kBOOL: return true;
    default: return false;
    }
}

std::optional<Shape> knownContents(Value const& value)
{
    Input const input{&value.type, value.contents ? &*value.contents : nullptr, value.constant.get(), value.name};
    return Inputs{{input}, value.name}.values(0);
}

Homes homesOf(Graph const& graph, std::vector<PlanIO> const& io, Target const& target)
{
    Homes homes{std::vector<Home>(graph.valueCount()), {}};
    BindingIndex const bindings{io};
    auto const home = [&](int32_t at) {
        if (at < 0)
            return Home{};
        PlanIO const& tensor = io[static_cast<size_t>(at)];
        return Home{tensor.isShape && target.hasOwnMemory ? Place::kHost : Place::kDevice, tensor.layout};
    };
    for (ValueId const input : graph.inputs())
        homes.inputs[static_cast<size_t>(input)] = home(bindings.input(graph.value(input).name));
    for (GraphOutput const& output : graph.outputs())
        homes.outputs.push_back(home(bindings.output(output.name)));
    return homes;
}

void selectOffers(
    Graph const& graph, Target const& target, Homes const& homes, SeamCosts const& seams, Choices& choices)
{
    Selector{graph, target, homes, seams, choices}.run();
}

} // namespace tenon::planner
