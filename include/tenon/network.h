//! \file
//! Layers and an element type that the TensorRT API has not.
#ifndef TENON_NETWORK_H
#define TENON_NETWORK_H

#include "tenon/base.h"

#ifdef __cplusplus
extern "C"
{
#endif

    //! 64-bit floating point, IEEE 754: an nvinfer1::DataType beyond those of the API, static_cast from this number.
    //! Inputs, constants, casts and whatever computes with real numbers take it, and networks of models with doubles
    //! have it. Nothing converts to or from it but a cast. On every device the reference computes it, in double, which
    //! is slow; elements that are only moved are as fast as others.
#define TENON_FLOAT64 31

    //! Whether parsers keep doubles as they are: 1, or with TENON_DOUBLE=float 0: they become float, as in TensorRT.
    TENON_CALL int32_t tenonKeepsFloat64(void) TENON_NOEXCEPT;

    //! Whether a network takes weights at addresses that are no multiple of their elements' size.
    //! \param network an nvinfer1::INetworkDefinition, of this library or another one.
    //! \return 1 of this library's; 0 of others, and of null.
    TENON_CALL int32_t tenonTakesWeightsAnywhere(void const* network) TENON_NOEXCEPT;

    //! A recurrent network over all steps of its sequences, as ONNX defines RNN, GRU and LSTM.
    typedef struct TenonRecurrentNetwork
    {
        int32_t cell;         //!< 0: RNN, 1: GRU, 2: LSTM.
        int32_t direction;    //!< 0: forward, 1: backward, 2: both.
        int32_t isResetAfter; //!< Of a GRU: the reset gate multiplies what the state's product gave, biases included.
        int32_t isCoupled;    //!< Of an LSTM: the forget gate is 1 minus the input gate.
        float clip;           //!< Gates are clipped to [-clip, clip] before they are activated; 0: they are not.

        int32_t activationCount; //!< 1 for RNN, 2 for GRU, 3 for LSTM; twice that for both directions.
        //! nvinfer1::ActivationType: kRELU, kSIGMOID, kTANH, kLEAKY_RELU, kHARD_SIGMOID or kSCALED_TANH; and the
        //! parameters of each.
        int32_t const* activations;
        float const* alphas;
        float const* betas;

        //! nvinfer1::ITensor: x [steps, batch, inputs]; W [directions, gates * hidden, inputs];
        //! R [directions, gates * hidden, hidden]; and, null for none: biases [directions, 2 * gates * hidden], lengths
        //! of the sequences [batch] (integers), first hidden and first cell state [directions, batch, hidden],
        //! peepholes [directions, 3 * hidden]. Gates stand in the order of ONNX.
        void* tensors[8];
    } TenonRecurrentNetwork;

    //! Adds the layer to a network. Its outputs: all hidden states [steps, directions, batch, hidden], the last hidden
    //! state [directions, batch, hidden] and, of an LSTM, the last cell state.
    //! \param network an nvinfer1::INetworkDefinition of this library.
    //! \return an nvinfer1::ILayer of the network's; null after a report to the builder's logger and recorder.
    TENON_CALL void* tenonAddRecurrentNetwork(void* network, TenonRecurrentNetwork const* recurrence) TENON_NOEXCEPT;

    //! Adds a layer that gives the determinants of the matrices in the last two axes.
    //! \param network an nvinfer1::INetworkDefinition of this library.
    //! \param x an nvinfer1::ITensor [.., n, n] of real numbers. The layer's output is [..].
    //! \return an nvinfer1::ILayer of the network's; null after a report to the builder's logger and recorder.
    TENON_CALL void* tenonAddDeterminant(void* network, void* x) TENON_NOEXCEPT;

    //! Adds a layer that sorts rows, the first column deciding first. Its outputs: the numbers of the rows in ascending
    //! order [rows] (int64), equal ones as they stood; and whether each differs from the one before it [rows] (bool),
    //! as the first does. A NaN stands behind all numbers and equals none.
    //! \param network an nvinfer1::INetworkDefinition of this library.
    //! \param x an nvinfer1::ITensor [rows, columns] of numbers or truth values.
    //! \return an nvinfer1::ILayer of the network's; null after a report to the builder's logger and recorder.
    TENON_CALL void* tenonAddRowOrder(void* network, void* x) TENON_NOEXCEPT;

    //! Adds a layer that gives what is left of elements of a when they are divided by those of b, exactly.
    //! \param network an nvinfer1::INetworkDefinition of this library.
    //! \param a an nvinfer1::ITensor of real numbers.
    //! \param b another one of its type and shape.
    //! \param isFloored 0: quotients are rounded to zero, so that what is left has the sign of a, as fmod() has it;
    //! else down, so that it has that of b.
    //! \return an nvinfer1::ILayer of the network's; null after a report to the builder's logger and recorder.
    TENON_CALL void* tenonAddRemainder(void* network, void* a, void* b, int32_t isFloored) TENON_NOEXCEPT;

    //! Adds a layer that reads the bits of elements as another type of their width has them.
    //! \param network an nvinfer1::INetworkDefinition of this library.
    //! \param x an nvinfer1::ITensor of whole or real numbers of 8, 16, 32 or 64 bits.
    //! \param toType an nvinfer1::DataType, or TENON_FLOAT64.
    //! \return an nvinfer1::ILayer of the network's; null after a report to the builder's logger and recorder.
    TENON_CALL void* tenonAddBitCast(void* network, void* x, int32_t toType) TENON_NOEXCEPT;

    //! Adds a layer that finds how real numbers stand as uint8 ones: (number - zeroPoint) * scale, by the range of all
    //! elements, 0 included, as ONNX's DynamicQuantizeLinear. Its outputs: the scale [] (float32), the zero point []
    //! (uint8), and the zero point once more as float32. Of zeros alone the scale is 1.
    //! \param network an nvinfer1::INetworkDefinition of this library.
    //! \param x an nvinfer1::ITensor of real numbers of up to 32 bits.
    //! \return an nvinfer1::ILayer of the network's; null after a report to the builder's logger and recorder.
    TENON_CALL void* tenonAddByteScale(void* network, void* x) TENON_NOEXCEPT;

    //! Gives an IQuantizeLayer or IDequantizeLayer of int8 numbers a zero point other than 0: real numbers are
    //! (number - zeroPoint) * scale. Quantizing rounds first, and then adds it. The layer's input for zero points,
    //! which TensorRT has at 0, stays empty.
    //! \param layer an nvinfer1::ILayer of a network of this library.
    //! \param zeroPoint within [-128, 127].
    //! \return 1; or 0 after a report: it is another layer, or the number is out of range.
    TENON_CALL int32_t tenonSetZeroPoint(void* layer, int32_t zeroPoint) TENON_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif // TENON_NETWORK_H
