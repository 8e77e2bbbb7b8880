#define ISOBAR_MADE_HERE
#include "support/catch.h"
