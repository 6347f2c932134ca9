// What most tests of io/ include: see tests.hpp.

#include "tests.hpp"

#include <rota/io/connection.hpp>
#include <rota/io/context.hpp>
#include <rota/io/listener.hpp>
#include <rota/io/server.hpp>
