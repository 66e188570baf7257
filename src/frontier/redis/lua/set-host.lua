-- setHost(host, settings): pace set by hand or by robots.txt.
-- ARGV: time, host, delay, concurrency, floor: each a number, 'null' (taken back) or '' (stays).
clock(true)
local h = host_of(ARGV[2])
local function setting(text, old)
  if text == '' then return old end
  return text == 'null' and -1 or tonumber(text)
end
h[SETDELAY], h[SETCONC], h[FLOOR] = setting(ARGV[3], h[SETDELAY]), setting(ARGV[4], h[SETCONC]), setting(ARGV[5], h[FLOOR])
h.reopened = 'limits'
touch(h)
flush()
return 1
