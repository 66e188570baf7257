-- beat(worker, lostAfterMs): it is alive, and lost if it does not beat again before that time has passed.
-- ARGV: time, worker, ms. Replies 1 when the beat was expected, 0 for the first one and for a worker that was lost.
clock(true)
local worker = ARGV[2]
if call('EXISTS', B .. ':worker:' .. worker) == 1 then call('HSET', B .. ':worker:' .. worker, 'seen', wall) end
call('HSET', B .. ':beats', worker, text_of(wall) .. ' ' .. ARGV[3])
return call('ZADD', B .. ':lost', now + tonumber(ARGV[3]), worker) == 0 and 1 or 0
