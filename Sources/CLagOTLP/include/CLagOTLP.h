// What of OpenTelemetry needs C: requests, and contexts for readers outside.
#pragma once

#include "clc_client.h"
#include "clo_context.h"
