/* Facts of an invented GPU machine on which every check passes, for tests to change one of. */
#pragma once

#include "doctor/doctor.h"

/* Points at storage of its own: two at a time share their devices. Free with json_decref(env). */
struct doctor_facts fit_machine(void);
