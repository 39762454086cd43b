// Networks as JSON.
#pragma once

#include <string>

namespace tenon::api
{

class Network;

//! A network as the user built it.
std::string networkJson(Network& network);

} // namespace tenon::api
