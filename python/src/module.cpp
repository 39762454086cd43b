// The extension module: declares all classes first, so that signatures can name each other, then binds their members.
#include "bindings.h"
#include "lent_memory.h"
#include "names_of_8.h"

PYBIND11_MODULE(_native, m)
{
    using namespace tenon::python;
    m.doc() = "Tenon's bindings of the TensorRT API.";
    bindEnums(m);
    bindValues(m);
    bindTimingCacheEntries(m);
    bindInterfaces(m);
    bindCalibrators(m);
    bindAlgorithmSelector(m);
    declareLayers(m);
    declareFullyConnected(m);
    declareRnnV2(m);
    declareNetwork(m);
    declareBuild(m);
    declareRun(m);
    bindLayers(m);
    bindNetwork(m);
    bindBuild(m);
    bindRun(m);
    bindNetworkByHand(m);
    bindBuildByHand(m);
    bindRunByHand(m);
    bindTimingCache(m);
    bindRefitters(m);
    bindImplicitBatch(m);
    bindPluginValues(m);
    bindPluginsV2(m);
    bindPluginsV3(m);
    bindPluginsQuick(m);
    bindLentMemory(m);
    bindCreators(m);
    bindRegistry(m);
    bindNamesOf8(m);
    bindRnnV2(m);
    bindExtras(m);
    bindHostStreams(m);
    bindTesting(m);
    keepClasses(m);
}
