// What most tests of HTTP include: see tests.hpp.

#include "tests.hpp"

#include <rota/http/error.hpp>
#include <rota/http/request.hpp>
#include <rota/http/response.hpp>
#include <rota/http/router.hpp>
#include <rota/http/server.hpp>
#include <rota/io/connection.hpp>
