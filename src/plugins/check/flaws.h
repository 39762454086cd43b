// Flaws: what the checking host can find wrong, with the rule it breaks and what to change.
#pragma once

#include <string_view>

namespace tenon::plugins::check
{

struct Flaw
{
    std::string_view check;
    std::string_view ruleV2; //!< Of the V2 family; those that begin with PC stand in docs/PLUGINS alone.
    std::string_view ruleV3;
    std::string_view change;
    bool stops{false}; //!< Nothing that is checked later would mean anything.
};

namespace flaw
{
inline constexpr Flaw kFails{
    "call-fails", "J5", "L21", "succeed for everything that the plugin has accepted"}; // Each call has its own rule.
inline constexpr Flaw kCreates{
    "call-fails", "PC8", "L3", "make an object of every set of fields that the creator advertises"};
inline constexpr Flaw kRefused{
    "refused", "PC9", "PC9", "accept the inputs that the plugin is checked with, or check it with others"};
inline constexpr Flaw kThrows{
    "throws", "J5", "L21", "catch everything inside the callback and return a code: no exception may leave it"};
inline constexpr Flaw kCrashes{"crashes", "PC5", "PC5", "run this callback under a debugger: docs/PLUGINS says how"};
inline constexpr Flaw kHangs{"hangs", "PC5", "PC5", "let the callback return"};
inline constexpr Flaw kEnds{
    "ends-process", "PC5", "PC5", "return a code: the process belongs to the user, no callback may end it"};
inline constexpr Flaw kNames{"names", "J15", "L3",
    "give creator and plugin the same type, version and namespace: plans are restored by them", true};
inline constexpr Flaw kNamespace{
    "namespace", "J16", "L2", "return what setPluginNamespace() received last, and \"\" before that"};
inline constexpr Flaw kCapabilities{"capabilities", "L1", "L1",
    "answer kCORE, kBUILD and kRUNTIME with objects of these interfaces, always the same", true};
inline constexpr Flaw kCompiled{
    "compiled-ahead", "PC7", "PC7", "check an implementation that runs (impl) in its place", true};
inline constexpr Flaw kInterface{"interface", "J17", "L25", "leave getInterfaceInfo() and getTensorRTVersion() alone"};
inline constexpr Flaw kFieldNames{
    "field-names", "PC8", "L4", "advertise every field once, with a name, in memory that the creator owns"};
inline constexpr Flaw kFieldsGiven{"unknown-field", "PC8", "L4",
    "give the field the name that the creator advertises, or let getFieldNames() advertise it"};
inline constexpr Flaw kOutputs{"outputs", "J1", "L9", "have at least one output, and always the same number", true};
inline constexpr Flaw kStable{"stable-answers", "PC1", "PC1",
    "give the same answer to the same question: count nothing, keep nothing in the call"};
inline constexpr Flaw kLooksAhead{"looks-ahead", "J10", "L17",
    "answer from the entries 0 to pos alone: those behind are not decided when the question comes"};
inline constexpr Flaw kCombination{"combination", "J3", "L22", "accept one of the types and formats on offer", true};
inline constexpr Flaw kLimit{"combination-limit", "J11", "L14", "answer 1 or more", true};
inline constexpr Flaw kShapes{"shapes-agree", "K12", "L9",
    "write extents with the expression builder; getConstantValue() means something only where isConstant() is true",
    true};
inline constexpr Flaw kSizeTensor{"size-tensor", "L10", "L10",
    "declare it as a 0-D int32 or int64 output, and write a size from 0 to its upper bound"};
inline constexpr Flaw kAlias{
    "alias", "L18", "L18", "let an output take over an input of the same type, format and shape, each input once"};
inline constexpr Flaw kNewObject{
    "new-object", "J7", "L7", "return a new object each time: the library destroys each one that it gets", true};
inline constexpr Flaw kCloneCarries{
    "clone-carries", "K10", "L6", "copy every member: a default copy constructor forgets none", true};
inline constexpr Flaw kCloneReady{"clone-initialized", "J6", "L5",
    "make the clone of an initialized plugin initialized: contexts never initialize theirs", true};
inline constexpr Flaw kDestroyKeeps{"destroy-keeps-others", "J7", "L5",
    "free only what this object owns; what copies share wants a count (std::shared_ptr)"};
inline constexpr Flaw kTerminateKeeps{"terminate-keeps-others", "J7", "L5",
    "free in terminate() only what initialize() of the same object made; what copies share wants a count"};
inline constexpr Flaw kInitializeAgain{
    "initialize-again", "J7", "L5", "make in initialize() all that terminate() frees, so that the two balance"};
inline constexpr Flaw kDetachKeeps{"detach-keeps-others", "J8", "L7",
    "give back only what this object got when it was attached; other contexts go on"};
inline constexpr Flaw kAllocations{
    "allocations", "J8", "L7", "give every block back to the context's allocator before the context is gone"};
inline constexpr Flaw kSerializeSize{
    "serialize-size", "J14", "L4", "write exactly the bytes that getSerializationSize() names"};
inline constexpr Flaw kRoundTrip{"round-trip", "J15", "L3", "store every member, and read each back"};
inline constexpr Flaw kWorkspaceBounds{
    "workspace-bounds", "K9", "K9", "ask in getWorkspaceSize() for all that enqueue() uses, at the largest extents"};
inline constexpr Flaw kWorkspaceLargest{"workspace-largest", "K9", "K9",
    "answer for the largest extents with no less than any smaller ones need: memory is set aside once, for those",
    true};
inline constexpr Flaw kWorkspaceHuge{
    "call-fails", "K9", "K9", "name the bytes that enqueue() needs: no memory has that many"};
inline constexpr Flaw kWorkspaceContents{
    "workspace-contents", "K9", "K9", "write workspace before reading it: what it holds is left over from others"};
inline constexpr Flaw kOutputBounds{
    "output-bounds", "PC2", "PC2", "write no more elements than the output's shape has"};
inline constexpr Flaw kOutputWritten{"output-written", "PC2", "PC2", "write every element of the output's shape"};
inline constexpr Flaw kInputsKept{
    "inputs-kept", "PC3", "L18", "leave inputs alone; to work in place let getAliasedInput() say so (IPluginV3)"};
inline constexpr Flaw kRepeatable{"repeatable", "PC4", "PC4",
    "compute the same from the same inputs: keep no state from one enqueue() to the next", true};
inline constexpr Flaw kApart{"contexts-apart", "K10", "L7",
    "keep scratch data in the object or the workspace, never in static or shared variables"};
inline constexpr Flaw kEmpty{
    "empty-tensors", "L23", "L23", "return success for tensors without elements, and touch nothing"};
inline constexpr Flaw kGpuBody{
    "gpu-body", "PC10", "PC10", "let enqueue() on the GPU and the body for the CPU compute the same"};
inline constexpr Flaw kReference{"reference", "PC6", "PC6", "compute what the reference function computes"};
inline constexpr Flaw kNoReference{
    "reference", "PC6", "PC6", "let the reference function write each output, in the shape that the plugin has for it"};
inline constexpr Flaw kFill{"fill", "PC9", "PC9", "let the function that fills inputs succeed for each of them", true};
} // namespace flaw

} // namespace tenon::plugins::check
