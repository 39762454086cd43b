// Modules: the libraries that are mapped, as the loader knows them.
#pragma once

namespace tenon::plugins
{

using Module = void const*; //!< A handle of dlopen; null: memory that is in no library.

//! The loader takes a lock of its own, which it has while it runs static constructors, too.
Module moduleAt(void const* address) noexcept;
//! Some address that the library has as long as it is mapped.
void const* insideOf(Module module) noexcept;

} // namespace tenon::plugins
