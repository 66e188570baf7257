-- restore(crawl, links): links in the state they had elsewhere. The crawl must be paused.
-- ARGV: time, crawl id, then for each link: host, route, delay in ms, state, fingerprint (signed decimal), fingerprint (hex), history (HISTORY),
-- code of its last failure or '', time of it or '', failures as kept (prelude.lua) or '', the client's part of the item. Replies the number of new ones, 'unknown' or the state.
clock(true)
local c = crawl_by_id(ARGV[2])
if not c then return 'unknown' end
if c.state ~= 'paused' then return c.state end
local new, stamp = 0, pack('>I6', wall)
for i = 3, #ARGV, 11 do
  local host, route, delay, state, fp, hex, history, code, at, failures, blob = unpack(ARGV, i, i + 10)
  if see(c, fp) then
    new = new + 1
    local lane = lane_of(c, lane_name(c, host, route))
    if lane.num == 0 then enlist(lane) end
    local main = main_of(lane)
    local item = stamp .. next_place(lane) .. blob
    main.total = main.total + 1
    c.total = c.total + 1
    count(c, 'total', 1)
    touch_lane(lane)
    touch_lane(main)
    if failures ~= '' then call('HSET', B .. ':f:' .. c.num, hex, failures) end
    if state == 'done' then
      main.done = main.done + 1
      count(c, 'done', 1)
    elseif state == 'pending' then
      back_to_pending(lane)
      if tonumber(delay) > 0 then
        delay_item(lane, history, item, now + tonumber(delay))
      elseif history == NO_HISTORY then
        if push_new(lane, level_of(c, item), item) or lane.phase == IDLE then place_lane(lane, true) end
      else
        push_returned(lane, history, item, now)
        place_lane(lane, true)
      end
    else
      end_kept(lane, hex, state, code, history, item, tonumber(at))
      c.endings = nil
    end
  end
end
flush()
flush_seen()
return new
