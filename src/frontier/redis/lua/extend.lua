-- extend(worker, tokens): renews leases that the worker holds and that have not run out.
-- ARGV: time, worker, epochs. Replies the epochs that are lost.
clock(true)
local worker, epochs = ARGV[2], {}
if call('EXISTS', B .. ':worker:' .. worker) == 1 then call('HSET', B .. ':worker:' .. worker, 'seen', wall) end
for i = 3, #ARGV do epochs[i - 2] = ARGV[i] end
if #epochs == 0 then return {} end
local mine, deadlines = call('SMISMEMBER', B .. ':held:' .. worker, unpack(epochs)), call('ZMSCORE', B .. ':deadlines', unpack(epochs))
local records, lost, renewed = call('HMGET', B .. ':leases', unpack(epochs)), {}, {}
for n, epoch in ipairs(epochs) do
  local c = mine[n] == 1 and records[n] and deadlines[n] and tonumber(deadlines[n]) > now and crawl_by_number((unpackstruct('>I4', records[n])))
  if c then
    renewed[#renewed + 1], renewed[#renewed + 2] = now + c.visibility, epoch
  else
    lost[#lost + 1] = epoch
  end
end
vcall('ZADD', B .. ':deadlines', renewed)
return lost
