-- The first part of every script that reads or changes the queue (../../keys.ts lists the keys, ../../codec.ts the records). KEYS[1] is the shard's hash
-- tag, the prefix of all its keys; ARGV[1] is the time (see `clock`). The client builds the arguments, so they are not checked again. Every loop is bounded by
-- the caller's batch or by a constant. Names in capitals that no file defines are constants of TypeScript, filled in by ../../scripts.ts.
local B, call, pack, unpackstruct = KEYS[1], redis.call, struct.pack, struct.unpack
local floor, ceil, max, min, fmt, sub = math.floor, math.ceil, math.max, math.min, string.format, string.sub

-- Records are read when they are needed, changed as Lua tables, and written by flush() at the end, in variadic commands.
local crawls, touched_crawls, hosts, touched_hosts, workers, gone_leases = {}, {}, {}, {}, {}, {}

-- The queue has a time of its own that runs only while somebody calls: after a silence (Redis was down, its clock jumped, no worker ran) it continues
-- where it was, and it never goes back. Leases and host pace use it, so neither a jump of the clock nor an outage ends every lease at once.
-- What people read (wall) and epochs (micros) are the server's time. Tests pass the time, or a jump of the server's clock ('+3600000').
local now, wall, micros
local function clock(writes)
  local QUIET_MS, given = 2000, ARGV[1]
  local jump, longest = 0, QUIET_MS
  if given ~= '' and string.find(given, '^%d') then
    wall, longest = tonumber(given), FAR
    micros = floor(wall * 1000 + 0.5)
  else
    if given ~= '' then jump = tonumber(given) end
    local t = call('TIME')
    wall = t[1] * 1000 + floor(t[2] / 1000) + jump
    micros = t[1] * 1000000 + t[2] + jump * 1000
  end
  local seen = call('GET', B .. ':clock')
  local step = FAR
  now = wall
  if seen then
    local lastwall, last = unpackstruct('>dd', seen)
    step = wall - lastwall
    -- A silence counts as 1 ms: two seconds at once would open every host too early.
    now = last + (step > longest and 1 or max(0, step))
  end
  -- Written at most ten times a second: a jump is recognised by the time between two writes.
  if writes and (step >= 100 or step < 0) then call('SET', B .. ':clock', pack('>dd', wall, now)) end
end

-- Variadic commands are what makes this fast; unpack fails near 8,000.
local function vcall(command, key, args)
  local n = #args
  if n == 0 then return end
  if n <= 2000 then return call(command, key, unpack(args)) end
  for i = 1, n, 2000 do call(command, key, unpack(args, i, min(n, i + 1999))) end
end

-- Redis turns numbers into text with %.17g, which costs as much as the command; most numbers of a call are the same few.
local texts = {}
local function text_of(number)
  local text = texts[number]
  if not text then
    text = number % 1 == 0 and fmt('%d', number) or fmt('%.17g', number)
    texts[number] = text
  end
  return text
end
