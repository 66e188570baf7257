-- replay and purge: dead letters go back to the queue with nothing used up, or are given up (skipped).
-- ARGV: time, crawl id, 'replay' or 'purge', fingerprints (hex). Replies {number, 1 when a finished crawl runs again}, 'unknown' or 'cancelled'.
clock(true)
local c = crawl_by_id(ARGV[2])
if not c then return 'unknown' end
if ARGV[3] == 'replay' and c.state == 'cancelled' then return 'cancelled' end
local moved = 0
for i = 4, #ARGV do
  local fp = ARGV[i]
  local record = call('HGET', B .. ':e:' .. c.num, fp)
  local state, ended, code, name, at
  if record then state, ended, code, name, at = unpackstruct('>BdBc0I2c0', record) end
  if state == DEAD_LETTER then
    local lane = lane_named(c, name)
    local main = main_of(c, lane)
    moved = moved + 1
    main[DEAD] = main[DEAD] - 1
    touch(lane.h)
    count(c, 'dead', -1)
    leave_dead(c, code, fp)
    if ARGV[3] == 'purge' then
      call('HSET', B .. ':e:' .. c.num, fp, string.char(SKIPPED_LINK) .. sub(record, 2))
      call('ZADD', B .. ':y:' .. c.num, call('INCR', B .. ':ends'), fp)
      main[SKIPPED] = main[SKIPPED] + 1
      count(c, 'skipped', 1)
    else
      call('HDEL', B .. ':e:' .. c.num, fp)
      back_to_pending(c)
      requeue(c, lane, pack(HISTORY, 0, 0, 0, 1), sub(record, at + 14), (unpackstruct('>d', record, at + 6)), 0)
    end
  end
end
local woke = ARGV[3] == 'replay' and moved > 0 and wake_crawl(c)
end_if_done(c)
flush()
return { moved, woke and 1 or 0 }
