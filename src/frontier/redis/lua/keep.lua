-- keep(worker, holdMs, disowned, waiting): renews every lease of the worker that has not run out and is not older than holdMs, or waits, except those
-- that the worker does not know.
-- ARGV: time, worker, holdMs, most leases of one call, number of disowned ones, their epochs, epochs that wait. Replies the renewed epochs.
clock(true)
local worker, hold, limit = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
if call('EXISTS', B .. ':worker:' .. worker) == 1 then call('HSET', B .. ':worker:' .. worker, 'seen', wall) end
local held = call('SMEMBERS', B .. ':held:' .. worker)
local epochs, kept, renewed, disowned, waits = {}, {}, {}, {}, {}
local waiting = 6 + tonumber(ARGV[5])
for i = 6, waiting - 1 do disowned[ARGV[i]] = true end
for i = waiting, #ARGV do waits[ARGV[i]] = true end
for i = 1, min(#held, limit) do epochs[i] = held[i] end
if #epochs > 0 then
  local deadlines, records = call('ZMSCORE', B .. ':deadlines', unpack(epochs)), call('HMGET', B .. ':leases', unpack(epochs))
  for n, epoch in ipairs(epochs) do
    if records[n] and deadlines[n] and tonumber(deadlines[n]) > now and not disowned[epoch] then
      local num, _, granted = unpackstruct('>I4dd', records[n])
      local c = crawl_by_number(num)
      if c and (now - granted < hold or waits[epoch]) then
        kept[#kept + 1] = epoch
        renewed[#renewed + 1], renewed[#renewed + 2] = now + c.visibility, epoch
      end
    end
  end
  vcall('ZADD', B .. ':deadlines', renewed)
end
return kept
