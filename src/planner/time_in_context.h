// chooseInContext: the network as a whole decides between offers that trials found nearly as fast.
#pragma once

#include "planner/trial.h"

namespace tenon::planner
{

//! A trial runs one kernel alone, again and again, on operands that caches hold by then; in a run of the network its
//! weights come from memory, and it begins while the kernel before it ends. So all steps on the device run in their
//! order, first as selected, then with another offer for all steps of a kind; what makes the whole faster is selected.
//! Layouts and places stay as they are. Steps of the host, of users and those whose results only running tells are left
//! out. Where the network cannot be run like this, all stays as it was.
Result<Done> chooseInContext(
    TimingRequest const& request, Needed const& needed, Choices& choices, TrialListener const& listener);

} // namespace tenon::planner
