//! \file
//! Version numbers of the API that these headers speak.

#ifndef NV_INFER_VERSION_H
#define NV_INFER_VERSION_H

// -DTRT_COMPAT_MAJOR=8 before the first of these headers makes them answer as 8.6.1 where the generations exclude each
// other; without it they answer as 10.16. 11 gives IBuilderConfig::setMaxAuxStreams the result that it has in 11.1, and
// ILogger, ILoggerFinder and IProfiler the getInterfaceInfo() that programs for 11.1 call and override: behind all
// slots of 10.16, and the library never calls it.
#if defined(TRT_COMPAT_MAJOR) && TRT_COMPAT_MAJOR != 8 && TRT_COMPAT_MAJOR != 10 && TRT_COMPAT_MAJOR != 11
#error "TRT_COMPAT_MAJOR may be 8, 10 or 11"
#endif

#if defined(TRT_COMPAT_MAJOR) && TRT_COMPAT_MAJOR == 8
#define TENON_COMPAT_8 1
#else
#define TENON_COMPAT_8 0
#endif

#if defined(TRT_COMPAT_MAJOR) && TRT_COMPAT_MAJOR == 11
#define TENON_COMPAT_11 1
#else
#define TENON_COMPAT_11 0
#endif

#define TRT_MAJOR_ENTERPRISE 10
#define TRT_MINOR_ENTERPRISE 16
#define TRT_PATCH_ENTERPRISE 0
#define TRT_BUILD_ENTERPRISE 72

#if TENON_COMPAT_8
#define NV_TENSORRT_MAJOR 8
#define NV_TENSORRT_MINOR 6
#define NV_TENSORRT_PATCH 1
#else
#define NV_TENSORRT_MAJOR TRT_MAJOR_ENTERPRISE //!< First number of the API's version.
#define NV_TENSORRT_MINOR TRT_MINOR_ENTERPRISE //!< Second number of the API's version.
#define NV_TENSORRT_PATCH TRT_PATCH_ENTERPRISE //!< Third number of the API's version.
#endif
#define NV_TENSORRT_BUILD TRT_BUILD_ENTERPRISE //!< Build number of the API's version.

#define NV_TENSORRT_LWS_MAJOR 0
#define NV_TENSORRT_LWS_MINOR 0
#define NV_TENSORRT_LWS_PATCH 0

// The library's own name: libnvinfer.so.10 by default.
#define NV_TENSORRT_SONAME_MAJOR NV_TENSORRT_MAJOR
#define NV_TENSORRT_SONAME_MINOR NV_TENSORRT_MINOR
#define NV_TENSORRT_SONAME_PATCH NV_TENSORRT_PATCH

#define NV_TENSORRT_RELEASE_TYPE_EARLY_ACCESS 0
#define NV_TENSORRT_RELEASE_TYPE_RELEASE_CANDIDATE 1
#define NV_TENSORRT_RELEASE_TYPE_GENERAL_AVAILABILITY 2
#define NV_TENSORRT_RELEASE_TYPE NV_TENSORRT_RELEASE_TYPE_GENERAL_AVAILABILITY

#endif // NV_INFER_VERSION_H
