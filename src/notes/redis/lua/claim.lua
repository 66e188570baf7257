-- claim(key, holder, freshMs, forMs). ARGV: time, holder, fresh ms, for ms.
-- Replies {kind, age, text, ms to wait}: kind is 'note', 'yours' or 'taken'.
local who, freshms, forms = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local age, text = note()
if fresh and tonumber(age) < freshms then return { 'note', age, text, 0 } end
if holder ~= '' and holder ~= who and held > now then return { 'taken', age, text, ceil(held - now) } end
holder, held = who, now + forms
call('HSET', K, 'holder', holder, 'held', exact(held))
expire()
return { 'yours', age, text, 0 }
