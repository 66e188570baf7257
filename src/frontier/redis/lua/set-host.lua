-- setHost(host, settings): pace set by hand or by robots.txt.
-- ARGV: time, host, delay, concurrency, floor: each a number, 'null' (taken back) or '' (stays); 1 closed by hand, 0 open, or '' (stays).
clock(true)
local h = host_of(ARGV[2])
local function setting(text, old)
  if text == '' then return old end
  return text == 'null' and -1 or tonumber(text)
end
h[SETDELAY], h[SETCONC], h[FLOOR] = setting(ARGV[3], h[SETDELAY]), setting(ARGV[4], h[SETCONC]), setting(ARGV[5], h[FLOOR])
if ARGV[6] == '1' and h[BLOCKED] < FAR then h[BLOCKED] = h[BLOCKED] + FAR end
if ARGV[6] == '0' and h[BLOCKED] >= FAR then h[BLOCKED] = h[BLOCKED] - FAR end
h.reopened = 'limits'
touch(h)
flush()
return 1
