-- Sends the requests of a file in turn (wrk -s requests.lua … -- <file> [<connections> <ms>]), and prints what came of it as one JSON
-- object. With the last two every connection stands for so long before its first request: Node accepts one in each turn of its event
-- loop, and wrk counts a first request that waited for that as all those that could have been sent meanwhile.

local prepared, at = {}, 0

function init(args)
  if args[2] then
    local waiting, ms = tonumber(args[2]), tonumber(args[3])
    function delay()
      if waiting == 0 then return 0 end
      waiting = waiting - 1
      return ms
    end
  end
  for _, r in ipairs(dofile(args[1])) do
    prepared[#prepared + 1] = wrk.format(r.method, r.path, r.headers, r.body)
  end
end

function request()
  at = at % #prepared + 1
  return prepared[at]
end

function done(summary, latency)
  local e = summary.errors
  io.write(string.format(
    '{"requests":%d,"micros":%d,"failed":%d,"refused":%d,"p50":%d,"p90":%d,"p99":%d,"p999":%d,"most":%d}\n',
    summary.requests, summary.duration, e.connect + e.read + e.write + e.timeout, e.status,
    latency:percentile(50), latency:percentile(90), latency:percentile(99), latency:percentile(99.9), latency.max))
end
