-- Reads the list of workers; changes nothing. ARGV: time.
-- Replies {wall, queue time, for each: name, links in flight, done, failed, started, seen, progress, about, beat ('' when none), time at which it is lost}.
clock(false)
local reply = { fmt('%.17g', wall), fmt('%.17g', now) }
for _, worker in ipairs(call('SMEMBERS', B .. ':workers')) do
  local w = call('HMGET', B .. ':worker:' .. worker, 'done', 'failed', 'started', 'seen', 'progress', 'about')
  if w[3] then
    reply[#reply + 1] = worker
    reply[#reply + 1] = call('SCARD', B .. ':held:' .. worker)
    for i = 1, 6 do reply[#reply + 1] = w[i] or '' end
    reply[#reply + 1] = call('HGET', B .. ':beats', worker) or ''
    reply[#reply + 1] = call('ZSCORE', B .. ':lost', worker) or ''
  end
end
return reply
