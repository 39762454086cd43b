// Crash: a program that dies in a plugin says in which one.
#pragma once

namespace tenon::cli
{

//! From here on a line names the plugin in whose callback the program dies. It dies all the same, of the same signal.
//! A signal that has a handler, such as a sanitizer's, keeps it.
void listenForCrashes();

} // namespace tenon::cli
