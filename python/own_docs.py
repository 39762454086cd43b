"""Documentation of what Python has and the headers lack, or say in terms of C++."""

OWN = {
    "DynamicPluginTensorDesc.desc": "The tensor; extents that are known at run time only are -1.",
    "DynamicPluginTensorDesc.min": "The smallest extents of the profile.",
    "DynamicPluginTensorDesc.opt": "The extents that the profile optimizes for.",
    "DynamicPluginTensorDesc.max": "The largest extents of the profile.",
    "IPluginCreator.name": "The plugin's name.",
    "IPluginCreatorV3One.name": "The plugin's name.",
    "IPluginV2.tensorrt_version": "The version of the interface, with the plugin's generation.",
    "IPluginV2.get_output_shape": "The extents of an output, without the batch.\n:param index: the output.\n"
    ":param input_shapes: the extents of the inputs.",
    "IPluginV2.execute_async": "Runs the layer on a stream.",
    "IPluginV2DynamicExt": "A custom layer whose extents may be known at run time only. Derive from it, call "
    "its __init__, set its attributes and override what it names.",
    "IPluginV2DynamicExt.configure_plugin": "Called with what was agreed, before an engine is made and before runs.",
    "IPluginV2DynamicExt.get_output_dimensions": "Derives the extents of an output, a DimsExprs.",
    "IPluginV2DynamicExt.supports_format_combination": "Whether type and format of the tensor at a position will do.",
    "IPluginV2DynamicExt.enqueue": "Runs the layer; addresses, workspace and stream are ints.",
    "IPluginV2DynamicExt.get_workspace_size": "The bytes of memory that a run needs besides its tensors.",
    "IPluginV2DynamicExt.initialize": "Called before the first run of an engine.",
    "IPluginV2DynamicExt.terminate": "Called after the last run of an engine.",
    "IPluginV2DynamicExt.get_output_datatype": "The type of an output.",
    "IPluginV2DynamicExt.get_serialization_size": "The bytes that serialize() gives.",
    "IPluginV2DynamicExt.serialize": "What a plan keeps of the plugin, as bytes.",
    "IPluginV2DynamicExt.clone": "A copy of the plugin with all that it knows.",
    "IPluginV2DynamicExt.destroy": "Called when the library lets go of the plugin.",
    "IPluginV3.destroy": "Called when the library lets go of the plugin.",
    "IPluginV3OneBuild.timing_cache_id": "A text that stands for the plugin's speed in the timing cache; or None.",
    "PluginField.name": "The name of the attribute.",
    "PluginField.data": "The values: a NumPy array, or bytes for types that NumPy lacks; None where there are none.",
    "PluginField.type": "The type of the values.",
    "PluginField.size": "How many values there are.",
    "PluginTensorDesc.dims": "The extents.",
    "PluginTensorDesc.type": "The type of the elements.",
    "PluginTensorDesc.format": "The order of the elements in memory.",
    "PluginTensorDesc.scale": "The scale of INT8 elements.",
    "IAlgorithm.get_algorithm_io_info": "A tensor as the algorithm sees it, inputs first; IndexError where there is "
    "none.\n:param index: the tensor.",
    "IAlgorithmContext.get_shape": "The smallest, typical and largest extents of a tensor, inputs first; IndexError "
    "where there is none.\n:param index: the tensor.",
    "IAlgorithm.timing_msec": "Milliseconds that a run took while building; 0 where tactics are chosen by estimate.",
    "IAlgorithmIOInfo.dtype": "The type of the elements.",
    "IAlgorithmIOInfo.tensor_format": "The order of the elements in memory.",
    "IAlgorithmSelector.select_algorithms": "Narrows the choice for one layer.\n:param context: the layer.\n"
    ":param choices: the algorithms.\n:returns: the places of those to choose from; [-1] leaves the choice to the "
    "builder, and so do an exception and None.",
    "IAlgorithmSelector.report_algorithms": "Tells what was chosen for all layers.\n:param contexts: the layers.\n"
    ":param choices: the algorithm of each.",
    "Builder.create_network": "An empty network; None on failure.\n"
    ":param flags: a bit 1 << NetworkDefinitionCreationFlag for each flag.",
    "Builder.max_batch_size": "The largest batch of networks with an implicit batch, 1 at first. A builder that got "
    "one builds networks made without NetworkDefinitionCreationFlag.EXPLICIT_BATCH with an implicit batch.",
    "Builder.gpu_allocator": "The allocator that engines made from the plan take their memory from; None for the "
    "built-in one. Cannot be read.",
    "Builder.get_plugin_registry": "The registry of plugin creators; there is one for the process.",
    "Dims.MAX_DIMS": "The highest rank a tensor can have.",
    "Dims.nbDims": "The rank; -1 where the rank is unknown or the extents are invalid.",
    "DimsHW.h": "The height, extent 0.",
    "DimsHW.w": "The width, extent 1.",
    "IBuilderConfig.create_timing_cache": "A timing cache; None when the bytes do not fit.\n"
    ":param serialized_timing_cache: what ITimingCache.serialize() gave; empty for an empty cache.",
    "Refitter.get_dynamic_range": "A tensor's quantization range, as its two ends.\n:param tensor_name: the tensor.",
    "TimingCacheValue.tacticHash": "A number that stands for the tactic.",
    "TimingCacheValue.timingMSec": "The time of the tactic in milliseconds.",
    "IBuilderConfig.clear_quantization_flag": "Takes one flag of quantization away.\n:param flag: the flag.",
    "IBuilderConfig.get_device_type": "The kind of device for a layer.\n:param layer: the layer.",
    "IBuilderConfig.get_memory_pool_limit": "How many bytes of a kind of memory may be used.\n:param pool: the kind.",
    "IBuilderConfig.get_preview_feature": "Whether a feature is on.\n:param feature: the feature.",
    "IBuilderConfig.get_quantization_flag": "Whether a flag of quantization is set.\n:param flag: the flag.",
    "IBuilderConfig.get_tactic_sources": "Where kernels may come from, a set of TacticSource.",
    "IBuilderConfig.get_timing_cache": "The cache that builds use and fill; None when there is none.",
    "IBuilderConfig.quantization_flags": "The flags of quantization, a set of QuantizationFlag.",
    "IBuilderConfig.set_quantization_flag": "Adds one flag of quantization.\n:param flag: the flag.",
    "IBuilderConfig.max_workspace_size": "How many bytes of workspace may be used; the same as the limit of the pool "
    "MemoryPoolType.WORKSPACE.",
    "IBuilderConfig.build_route": "The way from a network to a plan, one of `all_build_routes` (11.1).",
    "IBuilderConfig.all_build_routes": "All ways from a network to a plan, separated by commas (11.1).",
    "IBuilderConfig.plugins_to_serialize": "The files of the plugin libraries that the plan is to carry.",
    "ISymExpr.dtype": "The argument's type.",
    "ISymExpr.expr": "The expression, an IDimensionExpr.",
    "ICudaEngine.binding_is_input": "Whether a binding is an input (TensorRT 8); get_tensor_mode() serves names.",
    "ICudaEngine.get_binding_bytes_per_component": "Bytes of one component of a vectorized format; -1 for others.\n"
    ":param index: a binding.",
    "ICudaEngine.get_binding_components_per_element": "Components of one element of a vectorized format; -1 for "
    "others.\n:param index: a binding.",
    "ICudaEngine.get_binding_dtype": "The element type of a binding (TensorRT 8); get_tensor_dtype() serves names.",
    "ICudaEngine.get_binding_format": "The order of a binding's elements in memory.\n:param index: a binding.",
    "ICudaEngine.get_binding_format_desc": "The order of a binding's elements in words.\n:param index: a binding.",
    "ICudaEngine.get_binding_index": "The index of a binding: those of profile 0 have the names of the tensors, in the "
    'order inputs, outputs; those of profile i follow and end in " [profile i]".\n:param name: the name.\n'
    ":returns: the index; -1 for an unknown name.",
    "ICudaEngine.get_binding_name": "The name of a binding, with its profile but for profile 0.\n"
    ":param index: a binding.\n:returns: the name; None for an index out of range.",
    "ICudaEngine.get_binding_shape": "The extents of a binding, -1 for those of run time.\n"
    ":returns: the extents; invalid ones for an index out of range or an unknown name.",
    "ICudaEngine.get_binding_vectorized_dim": "The axis that a vectorized format splits; -1 for others.\n"
    ":param index: a binding.",
    "ICudaEngine.get_location": "Whether a binding lies on the device or, as shape tensors do, on the host.",
    "ICudaEngine.get_profile_shape": "The extents [min, opt, max] that an optimization profile has for an input.\n"
    ":param profile_index: the profile.\n"
    ":param binding: index or name of a binding of this profile or of profile 0; others have invalid extents.",
    "ICudaEngine.get_profile_shape_input": "The values [min, opt, max] that an optimization profile has for a shape "
    "input; RuntimeError when there are none.\n:param profile_index: the profile.\n"
    ":param binding: index or name of a binding of this profile or of profile 0.",
    "ICudaEngine.is_execution_binding": "Whether a run needs the binding's memory; False for tensors of which the "
    "engine uses the extents or, as those of shape tensors, the values only.\n:param binding: its index.",
    "ICudaEngine.is_shape_binding": "Whether a binding is a shape tensor, whose values decide about shapes or come of "
    "them.\n:param binding: its index.",
    "ICudaEngine.num_bindings": "The number of bindings: of tensors, once for each optimization profile. "
    "engine[i] is the name of binding i, engine[-i] that of a tensor counted from the last one, and iterating yields "
    "the names of the tensors, which all calls by name take.",
    "ICudaEngine.max_batch_size": "The largest batch of an engine with an implicit batch, else 1.",
    "RNNOperation": "What each cell of a recurrent layer computes (8.x).",
    "RNNOperation.RELU": "One gate with ReLU.",
    "RNNOperation.TANH": "One gate with the hyperbolic tangent.",
    "RNNOperation.LSTM": "Four gates and a cell state.",
    "RNNOperation.GRU": "Three gates.",
    "RNNDirection": "The directions in which a recurrent layer walks its sequences (8.x).",
    "RNNDirection.UNIDIRECTION": "From the first step to the last.",
    "RNNDirection.BIDIRECTION": "Both ways; the two results are concatenated.",
    "RNNInputMode": "How the input enters the first cell of a recurrent layer (8.x).",
    "RNNInputMode.LINEAR": "Through the input weights.",
    "RNNInputMode.SKIP": "As it is; its length must equal the hidden size.",
    "RNNGateType": "A gate of a recurrent cell (8.x).",
    "RNNGateType.INPUT": "Input gate, also the only one of RELU and TANH.",
    "RNNGateType.OUTPUT": "Output gate of an LSTM.",
    "RNNGateType.FORGET": "Forget gate of an LSTM.",
    "RNNGateType.UPDATE": "Update gate of a GRU.",
    "RNNGateType.RESET": "Reset gate of a GRU.",
    "RNNGateType.CELL": "Cell gate of an LSTM.",
    "RNNGateType.HIDDEN": "Hidden gate of a GRU.",
    "AttentionIOForm": "How sequences of unlike lengths lie in a tensor (11.1).",
    "AttentionIOForm.PADDED_BHND": "Each has the longest one's room: [batch, heads, length, head size].",
    "AttentionIOForm.PACKED_NHD": "One behind the other, without gaps: [all tokens, heads, head size].",
    "CausalMaskKind": "Which keys a causal mask lets a query see (11.1).",
    "CausalMaskKind.NONE": "All.",
    "CausalMaskKind.UPPER_LEFT": "Query i sees keys up to i.",
    "CausalMaskKind.LOWER_RIGHT": "The last query sees all keys, the one before it all but one.",
    "IRNNv2Layer": "Recurrent cells on top of each other, over sequences.",
    "IRNNv2Layer.num_layers": "How many cells are stacked, each way.",
    "IRNNv2Layer.hidden_size": "The length of the hidden state.",
    "IRNNv2Layer.max_seq_length": "The longest sequence, in steps.",
    "IRNNv2Layer.data_length": "The length of one step of the input.",
    "IRNNv2Layer.op": "What each cell computes.",
    "IRNNv2Layer.input_mode": "How the input enters the first cell.",
    "IRNNv2Layer.direction": "The directions in which the sequence is walked.",
    "IRNNv2Layer.seq_lengths": "The tensor with the lengths of the sequences; None where all have all steps.",
    "IRNNv2Layer.hidden_state": "The tensor that the hidden state starts from; None for zeros.",
    "IRNNv2Layer.cell_state": "The tensor that an LSTM's cell state starts from; None for zeros.",
    "IRNNv2Layer.set_weights_for_gate": "Sets one gate's matrix.\n:param layer_index: the layer; both ways count, "
    "forwards first.\n:param gate: the gate.\n:param is_w: of the input; else of the hidden state.\n"
    ":param weights: the matrix, a row per element of the hidden state.",
    "IRNNv2Layer.get_weights_for_gate": "One gate's matrix.\n:param layer_index: the layer.\n:param gate: the gate.\n"
    ":param is_w: of the input; else of the hidden state.",
    "IRNNv2Layer.set_bias_for_gate": "Sets one gate's bias.\n:param layer_index: the layer.\n:param gate: the gate.\n"
    ":param is_w: of the input; else of the hidden state.\n:param bias: one value per element of the hidden state.",
    "IRNNv2Layer.get_bias_for_gate": "One gate's bias.\n:param layer_index: the layer.\n:param gate: the gate.\n"
    ":param is_w: of the input; else of the hidden state.",
    "INetworkDefinition.add_rnn_v2": "Adds recurrent cells on top of each other, [batch, steps, length].\n"
    ":param input: the sequences.\n:param layer_count: how many cells.\n:param hidden_size: the length of the hidden "
    "state.\n:param max_seq_length: the number of steps.\n:param op: what each cell computes.",
    "DataType.FLOAT64": "64-bit floating point, IEEE 754; not of the API. Computed by the reference, which is slow.",
    "IAttention.causal_kind": "Which keys the causal mask hides (11.1).",
    "IAttention.query_form": "How queries lie, and with them the output (11.1).",
    "IAttention.key_value_form": "How keys and values lie (11.1).",
    "IAttention.query_lengths": "Where the sequences of packed queries begin, int32 [batch + 1] from 0; None for "
    "padded ones (11.1).",
    "IAttention.key_value_lengths": "The same of keys and values; of padded ones the lengths, int32 [batch] (11.1).",
    "INetworkDefinition.add_attention_v2": "Adds an attention whose causal mask can lie at either corner (11.1).\n"
    ":param query: [batch, heads, rows, head size].\n:param key: [batch, key heads, keys, head size].\n"
    ":param value: [batch, key heads, keys, columns].\n:param norm_op: what becomes of the products.\n"
    ":param causal_kind: which keys a query does not see.",
    "IKVCacheUpdateLayer.update_form": "How the update lies.",
    "IKVCacheUpdateLayer.update_lengths": "Where the sequences of a packed update begin; None for a padded one.",
    "IFullyConnectedLayer": "Multiplies the last three axes of its input, seen as one vector, by a matrix.",
    "IFullyConnectedLayer.num_output_channels": "How many values come out.",
    "IFullyConnectedLayer.kernel": "The matrix: outputs x inputs values.",
    "IFullyConnectedLayer.bias": "One value per output; none where it is empty.",
    "INetworkDefinition.add_fully_connected": "Multiplies the last three axes, seen as one vector, by a matrix.\n"
    ":param input: the tensor.\n:param num_outputs: how many values come out.\n:param kernel: the matrix.\n"
    ":param bias: one value per output, or None.\n:returns: the layer.",
    "Builder.build_engine": "Builds an engine, as build_engine_with_config() does (TensorRT 8).\n:param network: "
    "the network.\n:param config: how to build it.\n:returns: the engine; None on failure, the logger has the "
    "reason.",
    "IBuilderConfig.min_timing_iterations": "How often a tactic is timed at least (TensorRT 8). It is kept, and has "
    "no effect on the CPU; avg_timing_iterations serves since.",
    "IGpuAllocator.free": "Gives memory back (TensorRT 8). Classes that override free() and not deallocate() have "
    "it called in its place.\n:param memory: the address that allocate() returned.",
    "IOutputAllocator.tensorrt_version": "The version of the interface (TensorRT 8).",
    "IPluginCreator.tensorrt_version": "The version of the API that creators are used with, as one number.",
    "INetworkDefinition.has_explicit_precision": "False (TensorRT 8): types come with the layers and flags of the "
    "builder.",
    "INetworkDefinition.add_convolution": "Adds a convolution over two axes (TensorRT 8); add_convolution_nd() "
    "serves any.\n:param input: the tensor.\n:param num_output_maps: the number of output channels.\n:param "
    "kernel_shape: height and width of the kernels.\n:param kernel: the kernels.\n:param bias: one value per output "
    "channel, or None.\n:returns: the layer.",
    "INetworkDefinition.add_deconvolution": "Adds a transposed convolution over two axes (TensorRT 8); "
    "add_deconvolution_nd() serves any.\n:param input: the tensor.\n:param num_output_maps: the number of output "
    "channels.\n:param kernel_shape: height and width of the kernels.\n:param kernel: the kernels.\n:param bias: "
    "one value per output channel, or None.\n:returns: the layer.",
    "INetworkDefinition.add_pooling": "Adds a pooling over two axes (TensorRT 8); add_pooling_nd() serves "
    "any.\n:param input: the tensor.\n:param type: how a window is reduced.\n:param window_size: height and width "
    "of the window.\n:returns: the layer.",
    "INetworkDefinition.add_padding": "Adds zeros around the last two axes (TensorRT 8); add_padding_nd() does the "
    "same. Negative values cut off.\n:param input: the tensor.\n:param pre_padding: rows above and columns on the "
    "left.\n:param post_padding: rows below and columns on the right.\n:returns: the layer.",
    "IConvolutionLayer.kernel_size": "Height and width of the kernels (TensorRT 8); kernel_size_nd serves any "
    "number of axes. RuntimeError when read from a layer over other axes than two.",
    "IConvolutionLayer.stride": "The vertical and horizontal step (TensorRT 8); stride_nd serves any number of "
    "axes. RuntimeError when read from a layer over other axes than two.",
    "IConvolutionLayer.padding": "The zeros above and below, and those on the left and on the right (TensorRT 8); "
    "padding_nd serves any number of axes. RuntimeError when read from a layer over other axes than two.",
    "IConvolutionLayer.dilation": "The vertical and horizontal distance of neighbouring kernel elements (TensorRT "
    "8); dilation_nd serves any number of axes. RuntimeError when read from a layer over other axes than two.",
    "IDeconvolutionLayer.kernel_size": "Height and width of the kernels (TensorRT 8); kernel_size_nd serves any "
    "number of axes. RuntimeError when read from a layer over other axes than two.",
    "IDeconvolutionLayer.stride": "The vertical and horizontal step (TensorRT 8); stride_nd serves any number of "
    "axes. RuntimeError when read from a layer over other axes than two.",
    "IDeconvolutionLayer.padding": "The zeros above and below, and those on the left and on the right (TensorRT 8); "
    "padding_nd serves any number of axes. RuntimeError when read from a layer over other axes than two.",
    "IPoolingLayer.window_size": "Height and width of the window (TensorRT 8); window_size_nd serves any number of "
    "axes. RuntimeError when read from a layer over other axes than two.",
    "IPoolingLayer.stride": "The vertical and horizontal step (TensorRT 8); stride_nd serves any number of axes. "
    "RuntimeError when read from a layer over other axes than two.",
    "IPoolingLayer.padding": "The zeros above and below, and those on the left and on the right (TensorRT 8); "
    "padding_nd serves any number of axes. RuntimeError when read from a layer over other axes than two.",
    "IPaddingLayer.pre_padding": "The rows above and the columns on the left; negative ones are cut off (TensorRT "
    "8); pre_padding_nd serves any number of axes. RuntimeError when read from a layer over other axes than two.",
    "IPaddingLayer.post_padding": "The rows below and the columns on the right; negative ones are cut off (TensorRT "
    "8); post_padding_nd serves any number of axes. RuntimeError when read from a layer over other axes than two.",
    "ICudaEngine.create_execution_context": "Makes an execution context, the object that runs.\n"
    ":param strategy: where the context takes its memory for activations from.\n"
    ":param runtime_config: settings, instead of a strategy alone.\n"
    ":returns: the context; None on failure, for instance when memory is short.",
    "ICudaEngine.get_tensor_profile_shape": "The extents [min, opt, max] that an optimization profile has for an "
    "input.\n:param name: an input.\n:param profile_index: the profile.",
    "ICudaEngine.get_tensor_profile_values": "The values [min, opt, max] that an optimization profile has for a shape "
    "input; RuntimeError when there are none.\n:param name: a shape input.\n:param profile_index: the profile.",
    "IErrorRecorder.MAX_DESC_LENGTH": "The longest text, in bytes, that a recorder must be able to keep.",
    "IExecutionContext.active_optimization_profile": "The optimization profile that runs use, at first 0. Another one "
    "forgets the shapes of all dynamic inputs and the values that set_shape_input() gave; RuntimeError when there is "
    "none of that index.",
    "IExecutionContext.execute_async_v2": "Runs the engine on a stream, with the memory of all tensors. ValueError "
    "when an array or another buffer is smaller than its tensor with the shapes set now; nothing runs then. They are "
    "kept until the run is over.\n"
    ":param bindings: the memory of all tensors in the engine's order, each an address, a capsule, an array or "
    "another buffer; or those of all profiles, one after the other. None for the shape tensors that "
    "set_shape_input() has set.\n"
    ":param stream_handle: an int, a capsule, or None for the default stream 0.\n"
    ":param input_consumed: an event that is recorded when the inputs have been read.\n"
    ":returns: whether the run was started; the logger has the reason if not.",
    "IExecutionContext.get_binding_shape": "The extents of a binding: of an input as they are set, of an output as "
    "they follow from all inputs' shapes and values; -1 for those that are not known.\n"
    ":param binding: the index of a binding of the active optimization profile; invalid extents for others.",
    "IExecutionContext.get_shape": "The values of a shape tensor: of an input as they are set, of an output once all "
    "inputs' shapes and values are set. RuntimeError when they cannot be had.\n"
    ":param binding: the index of a binding of the active optimization profile.",
    "IExecutionContext.get_strides": "How many elements lie between neighbours along each axis; invalid until the "
    "shape is known.\n:param binding: the index of a binding of the active optimization profile.",
    "IExecutionContext.set_binding_shape": "Sets the extents of an input. All of them must be positive and within "
    "the active optimization profile.\n:param binding: the index of a binding of the active optimization profile.\n"
    ":param shape: the extents.\n:returns: whether they were set; the logger has the reason if not.",
    "IExecutionContext.set_shape_input": "Sets the values of an input that is a shape tensor; they are copied.\n"
    ":param binding: the index of a binding of the active optimization profile.\n:param shape: the values.\n"
    ":returns: whether they were set; the logger has the reason if not.",
    "IExecutionContext.all_binding_shapes_specified": "Whether every dynamic input has a shape.",
    "IExecutionContext.all_shape_inputs_specified": "Whether every input that decides about shapes has its values.",
    "IExecutionContext.device_memory": "The memory for activations, as it was given: an address, an array or another "
    "buffer. Only for contexts made with ExecutionContextAllocationStrategy.USER_MANAGED. An address stands for as "
    "many bytes as the engine may need at most. RuntimeError when the context does not take it.",
    "IExecutionContext.execute": "Runs a batch of an engine with an implicit batch and waits for its end. "
    "ValueError when an array or another buffer is smaller than its tensor with that batch; nothing runs then.\n"
    ":param batch_size: how many samples, at most the engine's max_batch_size. Without effect where the network was "
    "made with EXPLICIT_BATCH.\n:param bindings: the memory of all tensors, as for execute_v2.\n"
    ":returns: whether all went well.",
    "IExecutionContext.execute_async": "Starts a run of a batch of an engine with an implicit batch.\n"
    ":param batch_size: how many samples, as for execute.\n"
    ":param bindings: the memory of all tensors; what is no address is kept until the run is over.\n"
    ":param stream_handle: the stream, an int, a capsule, or None for the default stream 0.\n"
    ":param input_consumed: an event that is recorded once the inputs may be overwritten, or None.\n"
    ":returns: whether the run was started.",
    "IExecutionContext.execute_async_v3": "Runs the engine on a stream, with the addresses set by tensor name. "
    "ValueError when an array or another buffer is smaller than its tensor with the shapes set now; nothing runs "
    "then. They are kept until the run is over.\n"
    ":param stream_handle: an int, a capsule, or None for the default stream 0.\n"
    ":returns: whether the run was started; the logger has the reason if not.",
    "IExecutionContext.execute_v2": "Runs the engine and waits for its end. ValueError when an array or another "
    "buffer is smaller than its tensor with the shapes set now; nothing runs then.\n"
    ":param bindings: the memory of all tensors in the engine's order, each an address, a capsule, an array or "
    "another buffer; or those of all profiles, one after the other.\n:returns: whether all went well.",
    "IExecutionContext.infer_shapes": "Derives the shapes of all outputs from those of the inputs.\n"
    ":returns: the names of inputs whose shapes or values are missing; [] when all is known. RuntimeError when the "
    "shapes contradict each other.",
    "IExecutionContext.set_aux_streams": "Sets the streams that a run may use besides its own.\n"
    ":param aux_streams: their handles.",
    "IExecutionContext.set_device_memory": "Gives the memory for activations to a context made with "
    "ExecutionContextAllocationStrategy.USER_MANAGED. An array or another buffer is kept until it is replaced "
    "and no run uses it; ValueError when it is smaller than size, RuntimeError when the context does not take it.\n"
    ":param memory: an address, a capsule, an array or another buffer.\n"
    ":param size: its bytes, at least what update_device_memory_size_for_shapes() answers.",
    "IExecutionContext.set_tensor_address": "Sets the memory of an input or output. An array or another buffer is "
    "kept until other memory takes its place and no run uses it; its size is compared with the tensor's when the "
    "engine runs. TypeError for one that is not contiguous, has other elements, or is read-only where "
    "the engine writes.\n:param name: an input or output.\n"
    ":param memory: an address, a capsule, a NumPy array, another buffer, or None to take the address away.\n"
    ":returns: whether the context took it.",
    "IExecutionContext.set_optimization_profile_async": "Chooses the optimization profile, which forgets all shapes "
    "of inputs; RuntimeError when there is none of that index.\n:param profile_index: the profile.\n"
    ":param stream_handle: the stream, an int, a capsule, or None for the default stream 0.",
    "IHostMemory": "A block of memory that the library owns, for instance a plan. A read-only buffer: bytes(), "
    "memoryview() and file.write() take it without a copy of their own.",
    "IHostMemory.dtype": "The type of the elements; DataType.INT8 for a plan.",
    "IHostMemory.nbytes": "The number of bytes.",
    "ILogger": "Receives the library's messages: derive from it, call ILogger.__init__ and override log().",
    "IMatrixMultiplyLayer.op0": "How input 0 is read: as it is, transposed, or as a vector.",
    "IMatrixMultiplyLayer.op1": "How input 1 is read: as it is, transposed, or as a vector.",
    "INetworkDefinition.add_concatenation": "Joins tensors along an axis that is set on the layer.\n"
    ":param inputs: the tensors, all of one rank and type.",
    "INetworkDefinition.add_plugin": "Adds a plugin that is registered by its functions. ValueError when it has no "
    "implementation of the form that is wanted.\n:param tuple: what a call of tensorrt.plugin.op gives when it is "
    "called, (inputs, [], plugin).\n:param func: a call of tensorrt.plugin.op.\n:param aot: whether the ahead-of-time "
    "implementation is wanted; where it is not said, the network's flags PREFER_AOT_PYTHON_PLUGINS and "
    "PREFER_JIT_PYTHON_PLUGINS tell.\n:returns: the layer.",
    "INetworkDefinition.add_einsum": "Sums products over the indices of an equation.\n:param inputs: the tensors.\n"
    ':param equation: such as "ij,jk->ik".',
    "IOptimizationProfile.get_shape": "The extents [min, opt, max] of an input; [] when they were not set.\n"
    ":param input: the input's name.",
    "IOptimizationProfile.get_shape_input": "The values [min, opt, max] of a shape input; [] when they were not "
    "set.\n:param input: the input's name.",
    "IOptimizationProfile.set_shape": "Sets the extents that a dynamic input may have. RuntimeError when they do not "
    "fit each other.\n:param input: the input's name.\n:param min: the least extents.\n"
    ":param opt: those to optimize for.\n:param max: the greatest.",
    "IOptimizationProfile.set_shape_input": "Sets the values that a shape input may have. RuntimeError when they do "
    "not fit each other.\n:param input: the input's name.\n:param min: the least values.\n"
    ":param opt: those to optimize for.\n:param max: the greatest.",
    "IOutputAllocator.notify_shape": "Called when the shape of an output is known, before the run's call returns.\n"
    ":param tensor_name: the output.\n:param shape: its extents.",
    "IOutputAllocator.reallocate_output": "Called for the memory of an output.\n:param tensor_name: the output.\n"
    ":param memory: the address that was set for it, or 0; it may be returned when it is large enough.\n"
    ":param size: the bytes that are needed, at least 1.\n:param alignment: of the address.\n"
    ":returns: an address as int or capsule; None when there is no memory.",
    "IOutputAllocator.reallocate_output_async": "Called for the memory of an output, in the place of "
    "reallocate_output() where a class has it.\n:param tensor_name: the output.\n"
    ":param memory: the address that was set for it, or 0; it may be returned when it is large enough.\n"
    ":param size: the bytes that are needed, at least 1.\n:param alignment: of the address.\n"
    ":param stream: the stream that the run is on.\n"
    ":returns: an address as int or capsule; None when there is no memory.",
    "IPluginCreatorV3Quick.name": "The plugin's name.",
    "IPluginRegistry": "The plugin creators of this process, those of C++ libraries among them.",
    "IPluginRegistry.all_creators": "All creators; [] when there are none.",
    "IPluginRegistry.all_creators_recursive": "All creators, those of parent registries included; [] when there are "
    "none.",
    "IPluginRegistry.get_creator": "The creator of a plugin, of any generation; None when it is not registered.\n"
    ":param type: the plugin's name.\n:param version: its version.\n:param plugin_namespace: its namespace.",
    "IPluginRegistry.get_plugin_creator": "The creator of a plugin of the generations up to V2; None when it is not "
    "registered.\n:param type: the plugin's name.\n:param version: its version.\n"
    ":param plugin_namespace: its namespace.",
    "IPluginRegistry.plugin_creator_list": "The creators of plugins of the generations up to V2; [] when there are "
    "none.",
    "IResizeLayer.scales": "The factors, one for each axis; [] when the output's extents were set instead.",
    "ITensor.dynamic_range": "The range (min, max) of the values, None when it is not set.",
    "ITensor.set_dynamic_range": "Sets the range of the values.\n:param min: the least value.\n"
    ":param max: the greatest.",
    "IVersionedInterface.api_language": "The language that the interface is implemented in.",
    "IVersionedInterface.interface_info": "The interface's name and version.",
    "InterfaceInfo.kind": "The interface's name.",
    "InterfaceInfo.major": "The first number of the interface's version.",
    "InterfaceInfo.minor": "The second number of the interface's version.",
    "Logger": "Prints messages to standard error.\n:param min_severity: the least serious ones to print.",
    "Logger.log": "Prints a message that is serious enough.\n:param severity: how serious it is.\n"
    ":param msg: the text.",
    "Logger.min_severity": "The least serious messages to print.",
    "OnnxParser.get_subgraph_nodes": "The nodes of one of the parts that supports_model_v2() has found, by index in "
    "the model.\n:param index: the part.",
    "OnnxParser.get_used_vc_plugin_libraries": "The files of the plugin libraries that a version-compatible engine "
    "of this network needs.",
    "OnnxParser.load_model_proto": "Takes a model without reading it into the network yet.\n"
    ":param model: the model's bytes.\n:param path: the model's file, for external weights.\n"
    ":returns: False when it cannot be decoded or there is one already.",
    "OnnxParser.parse": "Reads a model into the network. get_error() tells what could not be read.\n"
    ":param model: the model's bytes.\n:param path: the model's file, for external weights.\n"
    ":returns: whether the whole model was read.",
    "OnnxParser.parse_from_file": "Reads a model from a file into the network. get_error() tells what could not be "
    "read.\n:param model: the file.\n:returns: whether the whole model was read.",
    "OnnxParser.parse_with_weight_descriptors": "Reads a model whose weights are pointers in the place of values.\n"
    ":param model: the model's bytes.\n:returns: whether the whole model was read.",
    "FallbackString": "A text of the library, which str() gives.",
    "NodeIndices": "Positions of nodes in a model: a list of integers.",
    "SubGraphCollection": "Parts of a model: a list of pairs, NodeIndices and whether these nodes could be read.",
    "OnnxParser.supports_model": "Asks whether a model could be read, part by part.\n:param model: the model's bytes."
    "\n:param path: the model's file, for external weights.\n"
    ":returns: whether all of it could be read, and a list of (nodes, whether they could be read).",
    "OnnxParser.supports_model_v2": "Asks whether a model could be read; num_subgraphs, is_subgraph_supported() and "
    "get_subgraph_nodes() tell about its parts.\n:param model: the model's bytes.\n"
    ":param path: the model's file, for external weights.\n:returns: whether the whole model could be read.",
    "ParserError.local_function_stack": "The local functions that the node lies in, outermost first.",
    "Profiler": "Prints the time of each layer to standard output.",
    "Profiler.report_layer_time": "Prints a line.\n:param layer_name: the layer.\n:param ms: its milliseconds.",
    "Runtime.deserialize_cuda_engine": "The engine of a plan; None when the plan is damaged, was made by another "
    "version, or lacks plugins: the logger has the reason. Bytes and read-only mappings are used where they lie and "
    "kept; other buffers are copied.",
    "Runtime.get_plugin_registry": "The registry of plugin creators; there is one for the process.",
    "Runtime.gpu_allocator": "The allocator that engines take their memory from; None for the built-in one. Cannot "
    "be read.",
    "Severity": "How serious a message is; a smaller number is more serious.",
    "Weights": "An array of constants: of an element type alone (empty), of a NumPy array, which is kept, or at an "
    "address.",
    "Weights.dtype": "The element type.",
    "Weights.nbytes": "The number of bytes.",
    "Weights.numpy": "A NumPy array over the same memory; the object itself for element types that NumPy lacks.",
    "Weights.size": "The number of elements.",
    "get_builder_plugin_registry": "The registry of plugin creators for builders; there is one for the process.",
    "get_nv_onnx_parser_version": "The version of the ONNX parser, as one number.",
    "get_plugin_registry": "The registry of plugin creators; there is one for the process.",
    "init_libnvinfer_plugins": "Registers all stock plugins under a namespace; a second call changes nothing.\n"
    ":param logger: where messages of the whole library go from now on; None changes nothing.\n"
    ":param namespace: the namespace.\n:returns: whether all of them are registered.",
}
