// BoxSelection: the best boxes of each image, without those that a better one covers, in tensors of fixed extents.
#pragma once

#include "ir/layer.h"
#include "layers/layer_table.h"

#include <span>

namespace tenon
{

//! Which candidates of an image meet, and what covering is.
enum class BoxRule : uint8_t
{
    kTogether, //!< All classes' best `candidates` by falling score; as much overlap as the threshold covers.
    kByClass,  //!< Each class' best `candidates` by themselves; more overlap than the threshold covers.
};

//! How two numbers of a box and two more say where it is.
enum class BoxForm : uint8_t
{
    kCorners,
    kCentre, //!< Centre, then width and height.
};

//! Inputs: boxes [n, b, 1 or c, 4], scores [n, b, c], anchors [1 or n, b, 4] (optional), all float32. Outputs: how many
//! boxes are left of each image [n, 1] (int32), boxes [n, k, 4] by falling score, their scores [n, k] and classes
//! [n, k] (int32); behind the last one zeros, and `emptyClass`. Of equal scores the lower box is first, then the lower
//! class; with kByClass the lower class, then the lower box. All arithmetic is that of float32.
struct BoxSelection
{
    static constexpr std::string_view kName{"BoxSelection"};
    BoxRule rule{BoxRule::kTogether};
    BoxForm form{BoxForm::kCorners};
    float scoreThreshold{0.0F}; //!< kTogether: the least score that counts; kByClass: scores above it count.
    float overlapThreshold{0.0F};
    int64_t candidates{1};  //!< Looked at: of an image, or of a class.
    int64_t most{1};        //!< k.
    int64_t mostOfClass{0}; //!< kTogether; 0: any number. Those beyond it cover others all the same.
    int32_t background{-1}; //!< The class that does not count.
    int32_t emptyClass{0};
    bool areLogits{false};       //!< Scores come out through the sigmoid function.
    bool isAgnostic{false};      //!< Boxes of other classes cover, too.
    bool clips{false};           //!< To [0, 1], when they come out.
    bool arePixels{false};       //!< kByClass: a side of a box counts both its ends;
    bool haveOneInCommon{false}; //!< of intersections, too, so that boxes apart have one pixel in common.

    static constexpr auto fields()
    {
        return std::tuple{field(1, "rule", &BoxSelection::rule), field(2, "form", &BoxSelection::form),
            field(3, "scoreThreshold", &BoxSelection::scoreThreshold),
            field(4, "overlapThreshold", &BoxSelection::overlapThreshold),
            field(5, "candidates", &BoxSelection::candidates), field(6, "most", &BoxSelection::most),
            field(7, "mostOfClass", &BoxSelection::mostOfClass), field(8, "background", &BoxSelection::background),
            field(9, "emptyClass", &BoxSelection::emptyClass), field(10, "areLogits", &BoxSelection::areLogits),
            field(11, "isAgnostic", &BoxSelection::isAgnostic), field(12, "clips", &BoxSelection::clips),
            field(13, "arePixels", &BoxSelection::arePixels),
            field(14, "haveOneInCommon", &BoxSelection::haveOneInCommon)};
    }

    //! Two opposite corners.
    struct Box
    {
        float x1{0.0F};
        float y1{0.0F};
        float x2{0.0F};
        float y2{0.0F};

        //! With the lower corner first.
        Box ordered() const noexcept;
    };
    //! One pair of box and class. Candidates are in order by falling score, then by rank.
    struct Scored
    {
        float score;
        int64_t rank;
    };
    struct Kept
    {
        Box box;
        Scored from;
        int64_t label;
    };
    struct Extents
    {
        int64_t images;
        int64_t boxes;
        int64_t classes;
        int64_t boxClasses;   //!< Of boxes: 1, or as many as there are classes.
        int64_t anchorImages; //!< 0: no anchors.
    };
    //! Where the tensors are, and memory for one image: `scored` for each of its pairs, `kept` for as many as can be.
    struct Memory
    {
        float const* boxes;
        float const* scores;
        float const* anchors;
        int32_t* counts;
        float* outBoxes;
        float* outScores;
        int32_t* outClasses;
        Scored* scored;
        Kept* kept;
        int64_t* ofClass;
    };
    //! How many can be kept before the best of them are taken.
    int64_t room(Extents const& extents) const noexcept;
    void selectImage(Extents const& extents, Memory const& memory, int64_t image) const;
    //! The least score that counts, as the input states scores; kByClass: the one to be exceeded.
    float lowestScore() const noexcept;
    static Extents extentsOf(
        std::vector<int64_t> const& boxes, std::vector<int64_t> const& scores, std::vector<int64_t> const* anchors);

    Result<Done> verify() const;
    Result<std::vector<TensorType>> infer(Inputs const& in) const;
    Result<std::vector<HostTensor>> reference(HostTensors const& in) const;

  private:
    Box decoded(Box const& box, Box const* anchor) const noexcept;
    Box boxOf(Extents const& extents, Memory const& memory, int64_t image, int64_t box, int64_t label) const noexcept;
    bool covers(Kept const& better, Kept const& one) const noexcept;
    float overlap(Box const& a, Box const& b) const noexcept;
    int64_t keepTogether(Extents const& extents, Memory const& memory, int64_t image) const;
    int64_t keepByClass(Extents const& extents, Memory const& memory, int64_t image) const;
    void write(Memory const& memory, int64_t at, Kept const& one) const noexcept;
};

} // namespace tenon

TENON_LAYER(BoxSelection);
