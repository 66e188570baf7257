-- restore(crawl, links): links in the state they had elsewhere. The crawl must be paused.
-- ARGV: time, crawl id, then for each link: host, route, delay in ms, state, fingerprint (signed decimal), fingerprint (hex), history (HISTORY),
-- code of its last failure or '', time of it or '', failures as keep_failure writes them or '', the client's part of the item. Replies the number of new ones, 'unknown' or the state.
clock(true)
local c = crawl_by_id(ARGV[2])
if not c then return 'unknown' end
if c.state ~= 'paused' then return c.state end
local new, stamp = 0, pack('>I6', wall)
for i = 3, #ARGV, 11 do
  local host, route, delay, state, fp, hex, history, code, at, failures, blob = unpack(ARGV, i, i + 10)
  if see(c, fp) then
    new = new + 1
    local lane = lane_of(c, host_of(host), lane_route(c, route))
    if lane[NUM] == 0 then enlist(c, lane) end
    local main = main_of(c, lane)
    local item = stamp .. blob
    local level = level_of(c, item)
    c.total = c.total + 1
    count(c, 'total', 1)
    touch(lane.h)
    if failures ~= '' then call('HSET', B .. ':f:' .. c.num, hex, failures) end
    if state == 'done' then
      main[DONE] = main[DONE] + 1
      count(c, 'done', 1)
    elseif state == 'pending' then
      back_to_pending(c)
      if tonumber(delay) > 0 then
        delay_item(c, lane, history, item, rank_behind(c, lane, level), now + tonumber(delay))
      elseif history == NO_HISTORY then
        if c.order == NEWEST_FIRST then item = pack('>I4', next_place(lane)) .. item end
        local length = call('RPUSH', list_key(c, level, lane.name), item)
        if length == 1 or c.order == NEWEST_FIRST then list_began(c, lane, level) end
      else
        push_returned(c, lane, history, item, rank_behind(c, lane, level), now)
        wake_lane(c, lane)
      end
    else
      end_kept(c, lane, hex, state, code, history, item, tonumber(at), rank_behind(c, lane, level))
      c.endings = 0
    end
  end
end
flush()
flush_seen()
return new
