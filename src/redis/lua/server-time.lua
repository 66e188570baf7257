-- The time in milliseconds: the server's, or ARGV[1] when a test passes one. Unlike the frontier's own time it also runs while nobody calls: a proxy's rest and
-- a note's claim must end in the meantime.
local now
if ARGV[1] ~= '' then
  now = tonumber(ARGV[1])
else
  local t = redis.call('TIME')
  now = t[1] * 1000 + math.floor(t[2] / 1000)
end
