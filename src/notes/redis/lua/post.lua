-- post(key, holder, text, keepMs). ARGV: time, holder, text, keep ms. Replies 1, or 0 when it was refused.
local who, text, keepms = ARGV[2], ARGV[3], tonumber(ARGV[4])
local claimed = holder == who
if not claimed then
  if holder ~= '' and held > now then return 0 end
  if fresh and by ~= who then return 0 end
  if fresh and call('HGET', K, 'text') == text then return 1 end
end
posted, by, ends, holder, held = now, who, now + keepms, '', 0
call('HSET', K, 'text', text, 'posted', exact(posted), 'by', by, 'until', exact(ends), 'holder', '', 'held', '0')
expire()
return 1
