-- Behind prelude.lua in the scripts that take leases away.

-- Reclaims these leases, as far as they are there. Answers the numbers of their crawls.
local function reclaim_all(epochs)
  local crawl_numbers = {}
  if #epochs == 0 then return crawl_numbers end
  local records = call('HMGET', B .. ':leases', unpack(epochs))
  for n, epoch in ipairs(epochs) do
    if records[n] then
      local l = lease_from(epoch, records[n])
      reclaim(l)
      crawl_numbers[l.num] = true
    else
      gone_leases[#gone_leases + 1] = epoch
    end
  end
  return crawl_numbers
end

-- Frees the slot that a lease of another shard holds here; the field is its token, a line feed, the host.
local function free_guest(field)
  if call('HDEL', B .. ':guests', field) == 0 then return end
  call('ZREM', B .. ':guestends', field)
  local h = host_of(sub(field, (string.find(field, '\n', 1, true)) + 1))
  slot_freed(h)
  h.reopened = true
  touch(h)
end

local function quiet_ids(crawl_numbers)
  local quiet = {}
  for num in pairs(crawl_numbers) do
    local c = crawl_by_number(num)
    if c and is_quiet(c) then quiet[#quiet + 1] = c.id end
  end
  return quiet
end
