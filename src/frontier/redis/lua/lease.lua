-- lease({worker, seq, want, spiders, busy}): up to `want` links, each within the pace of its host, best first.
-- ARGV: time, worker, seq, want, about the worker (JSON or ''), 1 when it must not get links that are leased alone, pages that it fetches or '',
-- spiders. Over several shards a call comes in rounds, 7.1, 7.2 …, and each can be repeated separately.
-- Replies {idle ms, 1 to drain, {crawl number, id, gen, visibility, …}, {epoch, lease (parts/leases.lua: LEASE), …}, {quiet crawl id, …}, queue time,
-- {deadline, …} of a repeated call}.
clock(true)
local worker, seq, want = ARGV[2], ARGV[3], tonumber(ARGV[4])
local wkey, heldkey = B .. ':worker:' .. worker, B .. ':held:' .. worker
local seqnumber = tonumber(seq)
-- Lanes that turn out to be closed when their turn comes are moved to the waiting ones; a call checks no more of them than this.
local patience = 200 + 2 * want
local MOVED = 200

local w = call('HMGET', wkey, 'seq', 'batch', 'solo', 'usage')
if w[1] == false then
  call('SADD', B .. ':workers', worker)
  call('HSET', wkey, 'started', wall, 'done', 0, 'failed', 0, 'progress', '', 'about', '')
end
if ARGV[5] ~= '' then call('HSET', wkey, 'about', ARGV[5]) end

local running = {}
for i = 8, #ARGV do
  for _, num in ipairs(call('SMEMBERS', B .. ':running:' .. ARGV[i])) do
    local c = crawl_by_number(tonumber(num))
    if c then
      end_if_done(c)
      running[#running + 1] = c
    end
  end
end

local records, deadlines, drain, names, named, contest = {}, {}, 0, {}, {}
local function name_crawl(c)
  if not named[c] then
    named[c] = true
    names[#names + 1] = c.num
    names[#names + 1] = c.id
    names[#names + 1] = c.gen
    names[#names + 1] = text_of(c.visibility)
  end
end

local last = w[1] and floor(tonumber(w[1]))
local same = last == floor(seqnumber)
if last and last > floor(seqnumber) then
  -- After a partition the network may deliver a call that its worker has given up and followed by others. Nobody reads the reply: links that were leased
  -- here stayed in flight for 40 s, and their hosts with them.
  call('HSET', wkey, 'seen', wall)
elseif same and tonumber(w[1]) >= seqnumber then
  -- The reply was lost: the same batch, as far as its leases are still held.
  local epochs = {}
  for epoch in string.gmatch(w[2] or '', '%d+') do epochs[#epochs + 1] = epoch end
  if #epochs > 0 then
    local held, ends = call('HMGET', B .. ':leases', unpack(epochs)), call('ZMSCORE', B .. ':deadlines', unpack(epochs))
    for n, record in ipairs(held) do
      if record and ends[n] and tonumber(ends[n]) > now then
        local num, round = unpackstruct('>I4d', record)
        local c = round == seqnumber and crawl_by_number(num)
        if c then
          name_crawl(c)
          records[#records + 1], records[#records + 2] = epochs[n], record
          deadlines[#deadlines + 1] = ends[n]
        end
      end
    end
  end
  call('HSET', wkey, 'seen', wall)
else
  local held_count = call('SCARD', heldkey) + tonumber(ARGV[6])
  local soloheld = w[3] and w[3] ~= '' and call('SISMEMBER', heldkey, w[3]) == 1
  local candidates, first, last, round, giving, given, gaps = {}, 1, 0, 0, {}, 0, 0
  local asked = want
  if ARGV[7] ~= '' then
    contest = contest_of(worker, w[4], tonumber(ARGV[7]), table.concat(ARGV, ' ', 8))
    want = room_for(contest, want)
  end

  -- By score, then by age of the lane.
  local function insert(lane, score)
    lane.score = score
    local tie, at = lane.tie, last
    -- They arrive nearly in order, so the search starts at the end.
    while at >= first do
      local other = candidates[at]
      if other.score < score or (other.score == score and other.tie < tie) then break end
      candidates[at + 1] = other
      at = at - 1
    end
    candidates[at + 1] = lane
    last = last + 1
  end

  -- Delayed links that are due.
  for _, c in ipairs(running) do
    if c.state == 'running' and not budget_spent(c) then
      giving[#giving + 1] = c
      local dkey = B .. ':d:' .. c.num
      local due = call('ZRANGEBYSCORE', dkey, '-inf', now, 'WITHSCORES', 'LIMIT', 0, MOVED)
      if #due > 0 then
        local gone = {}
        for n = 1, #due, 2 do
          local name, at = unpackstruct('>I2c0', due[n])
          local lane = lane_named(c, name)
          lane[DELAYED] = lane[DELAYED] - 1
          push_returned(c, lane, sub(due[n], at, at + 5), sub(due[n], at + 14), (unpackstruct('>d', due[n], at + 6)), tonumber(due[n + 1]))
          gone[#gone + 1] = due[n]
          place_lane(c, lane)
        end
        vcall('ZREM', dkey, gone)
      end
    end
  end

  -- Lanes that may be open, some more than wanted: ready ones, those whose wake time has come, those whose limits changed. Only the best of the ready
  -- ones are read; after the last of them (the edge), lanes that were not read may come first.
  local function fetch()
    candidates, first, last = {}, 1, 0
    round = round + 1
    -- A few more than wanted, because some turn out to be closed; each costs the read of its host.
    local need = min(want - given, 400)
    local size = need + min(16, need + 2)
    for _, c in ipairs(giving) do
      vcall('ZADD', B .. ':r:' .. c.num, c.readyadd)
      vcall('ZREM', B .. ':r:' .. c.num, c.readyrem)
      vcall('ZADD', B .. ':w:' .. c.num, c.waitadd)
      vcall('ZREM', B .. ':w:' .. c.num, c.waitrem)
      c.readyrem, c.readyadd, c.waitrem, c.waitadd = {}, {}, {}, {}
      local recheck = call('ZPOPMIN', B .. ':a:' .. c.num, MOVED)
      local woken = call('ZRANGEBYSCORE', B .. ':w:' .. c.num, '-inf', now, 'LIMIT', 0, size)
      -- Without their scores, which Redis would format and Lua parse again: the records have them.
      local ready = call('ZRANGE', B .. ':r:' .. c.num, 0, size - 1)
      -- A rate, or a pace without delay, needs more than the bytes of a simple host hold.
      local quick = c.interval == 0 and c.special < 2 and c.order ~= NEWEST_FIRST and (c.delay > 0 or c.conc == 1)
      local again = {}
      for n = 1, #recheck, 2 do again[#again + 1] = sub(recheck[n], 5) end
      for _, name in ipairs(again) do
        local lane = lane_named(c, name)
        -- It was among those to be checked again, and nowhere else.
        if lane[PHASE] == WAITING then
          lane[POS] = -1
          place_lane(c, lane)
        end
        if lane[PHASE] == READY and not lane.skipped and lane.listed ~= round then
          lane.listed = round
          insert(lane, lane[POS])
        end
      end
      -- The ready ones first: they come in order, and most of the others rank behind them.
      local members, keys, readies = ready, {}, #ready
      for n = 1, #woken do members[readies + n] = woken[n] end
      for n = 1, #members do keys[n] = (split_name(members[n], 5)) end
      read_hosts(keys)
      local edge
      for n = 1, #members do
        local isready, member, key = n <= readies, members[n], keys[n]
        local bytes = raw[key]
        if bytes and #bytes == SIMPLE_BYTES and quick then
          local score, since = unpackstruct('>dd', bytes, SIMPLE_POS)
          if not isready then score = floor(since - (PRIORITY_MAX - string.byte(bytes, SIMPLE_LEVEL)) * c.aging + 0.5) end
          -- What the order needs, in place of a lane.
          local candidate = { simple = true, crawl = c.num, key = key, member = member, score = score, tie = (unpackstruct('>I4', member)) }
          insert(candidate, score)
          if isready then edge = candidate end
        else
          local lane = lane_named(c, sub(member, 5))
          lane.member = member
          -- One that is checked again may be ready already.
          if not lane.skipped and lane.listed ~= round then
            lane.listed = round
            if lane[PHASE] == READY then
              insert(lane, lane[POS])
              if isready then edge = lane end
            elseif not isready then
              local rank = head_of(c, lane)
              if rank then insert(lane, score_of(c, lane, rank)) else put_lane(c, lane, IDLE, 0) end
            end
          end
        end
      end
      c.more = readies == size or #woken == size
      c.edge = readies == size and edge or nil
      c.edgepos = c.edge and c.edge.score
    end
  end

  local function past_edge(c, lane)
    return c.edge and (c.edgepos < lane.score or (c.edgepos == lane.score and c.edge.tie < lane.tie))
  end
  local function past_any_edge(lane)
    for n = 1, #giving do if past_edge(giving[n], lane) then return true end end
    return false
  end

  local epoch = tonumber(call('GET', B .. ':epoch') or 0)
  local epochs, ends = {}, {}
  local function grant(c, name, item, permit, rank, attempts, throttles, reclaims, flags)
    c.pending, c.leased, c.given = c.pending - 1, c.leased + 1, c.given + 1
    if not c.started then
      c.started = wall
      set_crawl(c, 'started', wall)
    end
    epoch = max(epoch + 1, micros)
    given = given + 1
    local text = fmt('%d', epoch)
    epochs[given] = text
    records[2 * given - 1], records[2 * given] = text, pack(LEASE, c.num, seqnumber, now, permit, now, attempts, throttles, reclaims, flags, rank, #worker,
      worker, #name, name, 0) .. item
    ends[2 * given - 1], ends[2 * given] = text_of(now + c.visibility), text
    name_crawl(c)
    held_count = held_count + 1
  end
  -- Leases the head of a simple host's lane, working on its bytes. False: the host is no longer a simple one.
  local function take_simple(c, candidate)
    local key, bytes = candidate.key, raw[candidate.key]
    if not bytes then return false end
    local started, inflight, latency, _, num, _, done, leased, number, phase, pos, since, served, pops, _, _, level, popped = unpackstruct(SIMPLE, bytes)
    if started > now then started = now end
    local delay = adapted(c.delay, c.target, c.maxdelay, latency)
    local at = delay > 0 and started + delay or 0
    if inflight >= c.conc then at = FAR end
    if at > now then
      patience = patience - 1
    else
      local item = call('LPOP', c.lists .. text_of(level) .. ':' .. key)
      if not item then
        -- The list had run empty: the lane is idle, without a level.
        patience = patience - 1
        move_lane(c, candidate.member, phase, IDLE, 0)
        set_raw(key, pack(RESTING, started, inflight, latency, 0, num, 0, done, leased, number, IDLE, 0, since, served, pops, 0, 0))
        return true
      end
      inflight, leased, pops, popped = inflight + 1, leased + 1, pops + 1, popped + 1
      started, since, served = now, now, now
      at = inflight >= c.conc and FAR or now + delay
      gaps = gaps + delay
      grant(c, key, item, permit_ms(delay, 0, 1), level * LEVEL + popped, 0, 0, 0, 0)
    end
    move_lane(c, candidate.member, phase, WAITING, at)
    set_raw(key, pack(SIMPLE, started, inflight, latency, 0, num, 0, done, leased, number, WAITING, at, since, served, pops, 0, 1, level, popped))
    return true
  end
  if want > 0 then fetch() end
  while given < want and patience > 0 do
    if soloheld then
      if given == 0 then drain = 1 end
      break
    end
    local lane = candidates[first]
    if not lane or past_any_edge(lane) then
      local more = lane ~= nil
      for _, c in ipairs(giving) do more = more or c.more end
      if not more then break end
      patience = patience - 10
      fetch()
      lane = candidates[first]
      if not lane then break end
    end
    candidates[first] = nil
    first = first + 1
    local c = crawls[lane.crawl]
    if lane.simple and take_simple(c, lane) then
      lane = nil
    elseif lane.simple then
      -- Its host was turned into a table meanwhile: treated as any other.
      local real = lane_named(c, lane.key)
      real.member, real.score = lane.member, lane.score
      lane = real
    end
    if lane then
      local h = lane.h
      local at, full, permit, interval, routeinterval, gap = gates(c, lane)
      if full or at > now then
        patience = patience - 1
        place_lane(c, lane)
      else
        local rank, back = head_of(c, lane)
        local solo = back and string.byte(back, 1) >= SOLO_AFTER
        local item
        local attempts, throttles, reclaims, flags = 0, 0, 0, 0
        if solo and held_count > 0 then
          drain = 1
          lane.skipped = true
          patience = patience - 1
        elseif back then
          call('ZREM', returned_key(lane), back)
          lane[RETURNED] = lane[RETURNED] - 1
          reclaims, attempts, throttles, flags, rank = unpackstruct('>BI2I2Bd', back)
          item = sub(back, 15)
        elseif rank then
          local lv = lane.lv
          local key = list_key(c, lv[1], lane.name)
          if c.order == NEWEST_FIRST then
            item = call('RPOP', key)
            if item then rank, item = newest_rank(lv[1], (unpackstruct('>I4', item))), sub(item, 5) end
          else
            item = call('LPOP', key)
            rank = lv[1] * LEVEL + lv[2] + 1
          end
          if item then
            if c.order ~= NEWEST_FIRST then lv[2], lane[POPS] = lv[2] + 1, lane[POPS] + 1 end
          else
            -- The list had run empty; the next level is the head, if there is one.
            drop_level(lane)
            patience = patience - 1
            place_lane(c, lane)
            if lane[PHASE] == READY then insert(lane, lane[POS]) end
          end
        else
          place_lane(c, lane)
        end
        if item then
          start_on(h, interval, true)
          if lane.route ~= '' then start_on(lane, routeinterval, true) end
          lane[SERVED], lane[SINCE] = now, now
          local main = main_of(c, lane)
          main[LEASED] = main[LEASED] + 1
          touch(h)
          gaps = gaps + gap
          grant(c, lane.name, item, permit, rank, attempts, throttles, reclaims, flags + (solo and 2 or 0))
          if solo then
            soloheld = true
            call('HSET', wkey, 'solo', epochs[#epochs])
          end
          place_lane(c, lane)
          if lane[PHASE] == READY then
            lane.score = lane[POS]
            if not past_edge(c, lane) then insert(lane, lane[POS]) end
          end
        end
      end
    end
  end
  if given > 0 then
    for _, c in ipairs(giving) do
      count(c, 'pending', -c.given)
      count(c, 'leased', c.given)
    end
    call('SET', B .. ':epoch', fmt('%d', epoch))
    vcall('HSET', B .. ':leases', records)
    vcall('ZADD', B .. ':deadlines', ends)
    vcall('SADD', heldkey, epochs)
  end
  local batch = table.concat(epochs, ',')
  if same then batch = w[2] .. ',' .. batch end
  if contest then
    local function queued()
      for _, c in ipairs(giving) do if c.pending > call('ZCARD', B .. ':d:' .. c.num) then return true end end
      return false
    end
    local usage = after_lease(contest, given, gaps, given == asked or drain == 1, queued)
    call('HSET', wkey, 'seq', seq, 'batch', batch, 'seen', wall, 'usage', usage)
  else
    call('HSET', wkey, 'seq', seq, 'batch', batch, 'seen', wall)
  end
end
flush()

-- When time itself changes something next.
local soonest, quiet = now + IDLE_MAX_MS, {}
for _, c in ipairs(running) do
  if is_quiet(c) then quiet[#quiet + 1] = c.id end
  if c.state == 'running' and not budget_spent(c) then
    for _, key in ipairs({ ':w:', ':d:' }) do
      local first = call('ZRANGE', B .. key .. c.num, 0, 0, 'WITHSCORES')
      if first[2] then soonest = min(soonest, tonumber(first[2])) end
    end
    if drain == 0 and call('EXISTS', B .. ':r:' .. c.num, B .. ':a:' .. c.num) > 0 then soonest = now end
  end
end
local expiry = call('ZRANGEBYSCORE', B .. ':deadlines', '(' .. fmt('%.17g', now), '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
if expiry[2] then soonest = min(soonest, tonumber(expiry[2])) end
local idle = max(1, min(IDLE_MAX_MS, ceil(soonest - now)))
if contest then idle = pause_of(contest, idle) end
return { idle, drain, names, records, quiet, text_of(now), deadlines }
