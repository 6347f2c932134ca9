-- One request, or a batch of BENCH_DEPTH of them, over and over; the result as JSON. With
-- BENCH_UPLOAD bytes of content it is a POST; with BENCH_CLOSE=yes each has its own connection; with
-- BENCH_FILES each is for one of so many files, the n-th of them n times as seldom as the first.

local ffi = require("ffi")

-- What wrk hands to done() as latency: how often each latency in microseconds was seen.
ffi.cdef [[
struct histogram {
    uint64_t count, limit, min, max, data[];
};
]]

local function requests_by_zipf(files)
    local folder = wrk.path:match("^(.*/)")
    local passed, total = {}, 0
    for rank = 1, files do
        total = total + 1 / rank
        passed[rank] = total
    end
    local made, chosen = {}, {}
    math.randomseed(1)
    for index = 1, 65536 do
        local point = math.random() * total
        local low, high = 1, files
        while low < high do
            local middle = math.floor((low + high) / 2)
            if passed[middle] < point then low = middle + 1 else high = middle end
        end
        made[low] = made[low] or wrk.format(nil, folder .. low - 1)
        chosen[index] = made[low]
    end
    return chosen
end

function init(args)
    local depth = tonumber(os.getenv("BENCH_DEPTH"))
    local upload = tonumber(os.getenv("BENCH_UPLOAD"))
    if upload > 0 then
        wrk.method = "POST"
        wrk.body = ("x"):rep(upload)
    end
    if os.getenv("BENCH_CLOSE") == "yes" then
        wrk.headers["Connection"] = "close"
    end
    local files = tonumber(os.getenv("BENCH_FILES"))
    if files > 0 then
        local all, index = requests_by_zipf(files), 0
        request = function()
            index = index % #all + 1
            return all[index]
        end
    end
    if depth > 1 then
        local batch = wrk.format():rep(depth)
        -- The batch replaces the request itself: a request() function would be called for each one.
        wrk.format = function() return batch end
    end
end

-- Before it calls done(), wrk adds what a client with a steady pace would have seen: for each
-- latency that is at least twice the mean time between two requests of a connection, further ones,
-- shorter by one interval each. It takes the interval of single requests for whole batches too, and
-- looks for percentiles above the shortest measured latency only, though it has added shorter ones.
-- This takes all of that away again, and returns how many latencies were really measured.
local function take_back_additions(seen, interval)
    local total = 0
    local largest = tonumber(seen.max)
    for value = largest, 2 * interval, -1 do
        local count = seen.data[value]
        if count > 0 then
            for added = value - interval, interval + 1, -interval do
                seen.data[added] = seen.data[added] - count
            end
        end
    end
    for value = 0, largest do
        total = total + tonumber(seen.data[value])
    end
    return total
end

local function percentile(seen, total, percent)
    local rank = math.max(1, math.ceil(total * percent / 100))
    local passed = 0
    for value = 0, tonumber(seen.max) do
        passed = passed + tonumber(seen.data[value])
        if passed >= rank then
            return value
        end
    end
    return 0
end

function done(summary, latency, requests)
    local seen = ffi.cast("struct histogram**", latency)[0]
    if seen.min ~= latency.min or seen.max ~= latency.max then
        error("this wrk keeps its latencies otherwise than wrk 4")
    end
    local each = math.floor(summary.requests / tonumber(os.getenv("BENCH_CONNECTIONS")))
    local total = tonumber(seen.count)
    if each > 0 then
        total = take_back_additions(seen, math.floor(summary.duration / each))
    end
    local errors = summary.errors
    io.write(string.format(
        'result {"requests": %d, "duration_us": %d, "bytes": %d, "latencies": %d, ' ..
        '"p50_us": %d, "p90_us": %d, "p99_us": %d, "p999_us": %d, "max_us": %d, ' ..
        '"errors": {"connect": %d, "read": %d, "write": %d, "status": %d, "timeout": %d}}\n',
        summary.requests, summary.duration, summary.bytes, total,
        percentile(seen, total, 50), percentile(seen, total, 90), percentile(seen, total, 99),
        percentile(seen, total, 99.9), tonumber(seen.max),
        errors.connect, errors.read, errors.write, errors.status, errors.timeout))
end
