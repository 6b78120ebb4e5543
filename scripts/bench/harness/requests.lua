-- Sends the requests of a file in turn (wrk -s requests.lua … -- <file>), and prints what came of it as one JSON object.

local prepared, at = {}, 0

function init(args)
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
