//! \file
//! Parameters of the stock plugins.

#ifndef NV_INFER_PLUGIN_UTILS_H
#define NV_INFER_PLUGIN_UTILS_H

#include "NvInferRuntimeCommon.h"

#if defined(__GNUC__)
// Deprecated calls refer to one another here; only their use elsewhere is worth a warning.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#endif

namespace nvinfer1
{

namespace plugin
{
//! Four 32-bit numbers, the padding of a crop in the order that the plugin documents.
struct TRT_DEPRECATED Quadruple
{
    int32_t data[4]; //!< The four numbers.
};

//! What the plugin PriorBox_TRT needs: boxes of given sizes and shapes at each place of a feature map.
struct PriorBoxParameters
{
    //! The small box sizes, in pixels.
    float* minSize;
    //! The large box sizes, in pixels.
    float* maxSize;
    //! The ratios of width to height.
    float* aspectRatios;
    //! How many small sizes there are.
    int32_t numMinSize;
    //! How many large sizes there are.
    int32_t numMaxSize;
    //! How many ratios there are.
    int32_t numAspectRatios;
    //! Whether each ratio is used reversed, too.
    bool flip;
    //! Whether boxes are clipped to the image.
    bool clip;
    //! Four factors of a box's coordinates.
    float variance[4];
    //! The image's height; 0 for that of the input.
    int32_t imgH;
    //! The image's width; 0 for that of the input.
    int32_t imgW;
    //! The vertical distance of places, in pixels; 0 to derive it.
    float stepH;
    //! The horizontal distance of places, in pixels; 0 to derive it.
    float stepW;
    //! Where in its cell a place lies, from 0 to 1.
    float offset;
};

//! What the plugin RPROI_TRT needs: region proposals and their pooling.
struct RPROIParams
{
    //! The height of a pooled region.
    int32_t poolingH;
    //! The width of a pooled region.
    int32_t poolingW;
    //! The pixels of the image per place of the feature map.
    int32_t featureStride;
    //! How many best proposals are looked at.
    int32_t preNmsTop;
    //! How many proposals are kept.
    int32_t nmsMaxOut;
    //! How many anchor ratios there are.
    int32_t anchorsRatioCount;
    //! How many anchor scales there are.
    int32_t anchorsScaleCount;
    //! The highest overlap of kept proposals.
    float iouThreshold;
    //! The smallest proposal, in pixels.
    float minBoxSize;
    //! The factor from the image to the feature map.
    float spatialScale;
};

//! What the plugin GridAnchor_TRT needs: boxes for one feature map.
struct GridAnchorParameters
{
    //! The smallest box, as a share of the image.
    float minSize;
    //! The largest box, as a share of the image.
    float maxSize;
    //! The ratios of width to height.
    float* aspectRatios;
    //! How many ratios there are.
    int32_t numAspectRatios;
    //! The feature map's height.
    int32_t H;
    //! The feature map's width.
    int32_t W;
    //! Four factors of a box's coordinates.
    float variance[4];
};

//! How a detector encodes a box.
enum class CodeTypeSSD : int32_t
{
    //! Differences of the corners.
    CORNER TRT_DEPRECATED_ENUM = 0,
    //! Differences of centre and size.
    CENTER_SIZE TRT_DEPRECATED_ENUM = 1,
    //! Differences of the corners, divided by the size.
    CORNER_SIZE TRT_DEPRECATED_ENUM = 2,
    //! As CENTER_SIZE, with y before x.
    TF_CENTER TRT_DEPRECATED_ENUM = 3,
};

//! What the plugin NMS_TRT needs: decoding of boxes and suppression of overlapping ones.
struct TRT_DEPRECATED DetectionOutputParameters
{
    //! Whether all classes share a box.
    bool shareLocation;
    //! Whether the factors are in the encoded boxes already.
    bool varianceEncodedInTarget;
    //! The class of the background; -1 for none.
    int32_t backgroundLabelId;
    //! How many classes there are.
    int32_t numClasses;
    //! How many best boxes per class are looked at.
    int32_t topK;
    //! How many boxes are kept per image.
    int32_t keepTopK;
    //! The lowest score.
    float confidenceThreshold;
    //! The highest overlap.
    float nmsThreshold;
    //! How boxes are encoded.
    CodeTypeSSD codeType;
    //! The inputs that hold boxes, scores and anchors.
    int32_t inputOrder[3];
    //! Whether scores still need a sigmoid.
    bool confSigmoid;
    //! Whether coordinates run from 0 to 1.
    bool isNormalized;
    //! Whether anchors are the same for the whole batch.
    bool isBatchAgnostic{true};
};

//! A tree of classes, for the plugin Region_TRT.
struct softmaxTree
{
    //! For each class whether it is a leaf.
    int32_t* leaf;
    //! How many classes there are.
    int32_t n;
    //! The parent of each class.
    int32_t* parent;
    //! The first child of each class.
    int32_t* child;
    //! The group of each class.
    int32_t* group;
    //! The name of each class.
    char** name;
    //! How many groups there are.
    int32_t groups;
    //! The number of classes of each group.
    int32_t* groupSize;
    //! The first class of each group.
    int32_t* groupOffset;
};

//! What the plugin Region_TRT needs.
struct RegionParameters
{
    //! How many boxes a place has.
    int32_t num;
    //! How many coordinates a box has.
    int32_t coords;
    //! How many classes there are.
    int32_t classes;
    //! The tree of classes, or null.
    softmaxTree* smTree;
};

//! What the plugin BatchedNMS_TRT needs: suppression of overlapping boxes.
struct TRT_DEPRECATED NMSParameters
{
    //! Whether all classes share a box.
    bool shareLocation;
    //! The class of the background; -1 for none.
    int32_t backgroundLabelId;
    //! How many classes there are.
    int32_t numClasses;
    //! How many best boxes per class are looked at.
    int32_t topK;
    //! How many boxes are kept per image.
    int32_t keepTopK;
    //! The lowest score.
    float scoreThreshold;
    //! The highest overlap.
    float iouThreshold;
    //! Whether coordinates run from 0 to 1.
    bool isNormalized;
};
} // namespace plugin
} // namespace nvinfer1

#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

#endif // NV_INFER_PLUGIN_UTILS_H
