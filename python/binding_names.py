"""What the generated bindings must be told: irregular names, who owns results, what is bound by hand."""

#: (Python class or "*", attribute or method) -> C++ stem of get/set, or method name.
NAMES = {
    ("IAttention", "norm_op"): "NormalizationOperation",
    ("IActivationLayer", "type"): "ActivationType",
    ("IPoolingLayer", "type"): "PoolingType",
    ("IUnaryLayer", "op"): "Operation",
    ("IReduceLayer", "op"): "Operation",
    ("ITopKLayer", "op"): "Operation",
    ("IElementWiseLayer", "op"): "Operation",
    ("ICumulativeLayer", "op"): "Operation",
    ("*", "kernel"): "KernelWeights",
    ("*", "bias"): "BiasWeights",
    ("IConstantLayer", "shape"): "Dimensions",
    ("IFillLayer", "shape"): "Dimensions",
    ("ISliceLayer", "shape"): "Size",
    ("IResizeLayer", "shape"): "OutputDimensions",
    ("IReduceLayer", "axes"): "ReduceAxes",
    ("ITopKLayer", "axes"): "ReduceAxes",
    ("ITensor", "dtype"): "Type",
    ("ITensor", "shape"): "Dimensions",
    ("IGatherLayer", "axis"): "GatherAxis",
    ("IGatherLayer", "num_elementwise_dims"): "NbElementWiseDims",
    ("INMSLayer", "topk_box_limit"): "TopKBoxLimit",
    ("IBuilderConfig", "num_optimization_profiles"): "NbOptimizationProfiles",
    ("ILoopOutputLayer", "kind"): "LoopOutput",
    ("ITripLimitLayer", "kind"): "TripLimit",
    ("IReduceLayer", "keep_dims"): "KeepDimensions",
    ("IShuffleLayer", "reshape_dims"): "ReshapeDimensions",
    ("IBuilderConfig", "max_num_tactics"): "MaxNbTactics",
    ("ICudaEngine", "num_io_tensors"): "NbIOTensors",
    ("ICudaEngine", "get_tensor_dtype"): "getTensorDataType",
    ("ICudaEngine", "get_tensor_mode"): "getTensorIOMode",
    ("ICudaEngine", "get_tensor_name"): "getIOTensorName",
    ("ICudaEngine", "is_shape_inference_io"): "isShapeInferenceIO",
    ("IExecutionContext", "temporary_allocator"): "TemporaryStorageAllocator",
    ("IExecutionContext", "execute_v2"): "executeV2",
    ("IExecutionContext", "execute_async_v3"): "enqueueV3",
    ("INetworkDefinition", "add_elementwise"): "addElementWise",
    ("INetworkDefinition", "add_topk"): "addTopK",
    ("INetworkDefinition", "add_softmax"): "addSoftMax",
    ("INetworkDefinition", "add_ragged_softmax"): "addRaggedSoftMax",
    ("INetworkDefinition", "add_parametric_relu"): "addParametricReLU",
    ("INetworkDefinition", "add_lrn"): "addLRN",
    ("INetworkDefinition", "add_nms"): "addNMS",
    ("INetworkDefinition", "add_moe"): "addMoE",
    ("INetworkDefinition", "add_kv_cache_update"): "addKVCacheUpdate",
    ("OnnxParser", "get_used_vc_plugin_libraries"): "getUsedVCPluginLibraries",
}

#: Methods whose result belongs to the caller.
OWNED = {
    "create_network",
    "create_builder_config",
    "build_serialized_network",
    "build_engine_with_config",
    "create_execution_context",
    "create_execution_context_without_device_memory",
    "create_engine_inspector",
    "serialize",
    "serialize_with_config",
    "deserialize_cuda_engine",
    "create_runtime_config",
    "create_serialization_config",
    "create_timing_cache",
    "load_runtime",
}

#: What may wait for other threads, or work for long, and runs without the GIL beside the calls of which the tables say
#: so. Calls between two runs that are over at once keep it: a busy thread gives it back only after milliseconds.
RELEASES_GIL = {
    ("OnnxParser", "parse_model_proto"),
    ("OnnxParserRefitter", "refit_model_proto"),
    ("Runtime", "load_runtime"),
    ("ICudaEngine", "device_memory_size"),
    ("ICudaEngine", "device_memory_size_v2"),
    ("ICudaEngine", "get_device_memory_size_for_profile"),
    ("ICudaEngine", "get_device_memory_size_for_profile_v2"),
    ("ICudaEngine", "weight_streaming_budget"),
    ("ICudaEngine", "weight_streaming_budget_v2"),
    ("IExecutionContext", "update_device_memory_size_for_shapes"),
    ("EngineInspector", "get_engine_information"),
    ("EngineInspector", "get_layer_information"),
}

#: Enumerations whose C++ type has another name or place.
ENUM_VALUES = {
    "ErrorCode": {"": "nvonnxparser::ErrorCode"},
    "Severity": {"": "nvinfer1::ILogger::Severity"},
    "ErrorCodeTRT": {"": "nvinfer1::ErrorCode"},
}

#: Members of enumerations that 8.x, 9.x or 11.x have and 10.x lacks. The headers have their values, which contradict
#: no number of 10.x; what 8.x numbers otherwise has the number of 10.x, unless TENON_API_GENERATION says so.
OTHER_MEMBERS = {
    "BuilderFlag": ["STRICT_TYPES", "ENABLE_TACTIC_HEURISTIC"],
    "CollectiveOperation": ["ALL_TO_ALL", "GATHER", "SCATTER"],
    "EngineCapability": ["DEFAULT", "SAFE_GPU", "SAFE_DLA"],
    "LayerType": ["FULLY_CONNECTED", "RNN_V2"],
    "NetworkDefinitionCreationFlag": ["EXPLICIT_PRECISION"],
    "PaddingMode": ["CAFFE_ROUND_DOWN", "CAFFE_ROUND_UP"],
    "PreviewFeature": ["FASTER_DYNAMIC_SHAPES_0805", "DISABLE_EXTERNAL_TACTIC_SOURCES_FOR_CORE_0805"],
    "ProfilingVerbosity": ["DEFAULT", "VERBOSE"],
    "SampleMode": ["DEFAULT"],
}

#: Enumerations that 8.x and 9.x number otherwise than 10.x.
RENUMBERED = ["BuilderFlag", "LayerType", "NetworkDefinitionCreationFlag", "PreviewFeature"]

#: Sets of their members.
MASKS = {
    "nvinfer1::BuilderFlags": "nvinfer1::BuilderFlag",
    "nvinfer1::NetworkDefinitionCreationFlags": "nvinfer1::NetworkDefinitionCreationFlag",
}

#: Members beyond the API, by their numbers in include/tenon.
OWN_MEMBERS = {"DataType": {"FLOAT64": "TENON_FLOAT64"}}


#: Classes bound wholly by hand in python/src.
HAND_CLASSES = {"Severity"}

#: Members bound by hand in python/src.
HAND: dict[str, set[str]] = {
    "IMatrixMultiplyLayer": {"op0", "op1"},
    "IResizeLayer": {"scales"},
    "ITensor": {"dynamic_range", "set_dynamic_range"},
    "INetworkDefinition": {"add_concatenation", "add_einsum", "remove_tensor", "add_dist_collective"}
    | {"add_plugin", "add_plugin_v2", "add_plugin_v3"},
    "IPluginV2Layer": {"plugin"},
    "IPluginV3Layer": {"plugin"},
    "Builder": {"get_plugin_registry", "create_network", "build_serialized_network", "build_engine_with_config"},
    "IBuilderConfig": {"plugins_to_serialize", "create_timing_cache", "int8_calibrator"},
    "ITimingCache": {"queryKeys", "query", "update"},
    "Refitter": {
        "get_all",
        "get_missing",
        "get_all_weights",
        "get_missing_weights",
        "get_dynamic_range",
        "set_dynamic_range",
        "get_tensors_with_dynamic_range",
    },
    "OnnxParserRefitter": {"refit_from_bytes", "load_model_proto"},
    "IOptimizationProfile": {"get_shape", "get_shape_input", "set_shape", "set_shape_input"},
    "OnnxParser": {
        "parse",
        "parse_from_file",
        "parse_with_weight_descriptors",
        "supports_model",
        "supports_model_v2",
        "get_subgraph_nodes",
        "get_used_vc_plugin_libraries",
        "load_model_proto",
    },
    "ParserError": {"local_function_stack"},
    "Runtime": {"get_plugin_registry", "deserialize_cuda_engine"},
    "ICudaEngine": {"get_tensor_profile_shape", "get_tensor_profile_values", "create_execution_context"},
    "IExecutionContext": {
        "set_output_allocator",
        "report_to_profiler",
        "all_binding_shapes_specified",
        "all_shape_inputs_specified",
        "infer_shapes",
        "active_optimization_profile",
        "set_aux_streams",
        "set_device_memory",
        "device_memory",
        "execute_v2",
        "execute_async_v3",
        "set_tensor_address",
        "set_input_shape",
        "set_optimization_profile_async",
    },
}
