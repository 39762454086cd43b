"""`tenon serve`: engines behind the Open Inference Protocol; KServe's Python SDK is the front."""
