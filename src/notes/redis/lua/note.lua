-- Loaded before every script of the notes (../../note.ts says the same in TypeScript). KEYS[1] is the key of one note.
-- A hash: text, posted (at), by, until; holder, held (until). It expires with what it holds.
local K, call = KEYS[1], redis.call
local ceil, max = math.ceil, math.max

local v = call('HMGET', K, 'posted', 'by', 'until', 'holder', 'held')
local posted, by, ends, holder, held = tonumber(v[1] or 0), v[2] or '', tonumber(v[3] or 0), v[4] or '', tonumber(v[5] or 0)
local fresh = ends > now

local function exact(number) return string.format('%.17g', number) end

-- Age and text of the note; −1 when there is none.
local function note()
  if not fresh then return '-1', '' end
  return exact(max(0, now - posted)), call('HGET', K, 'text')
end

local function expire()
  local gone = max(ends, holder ~= '' and held or 0)
  if gone <= now then call('DEL', K) else call('PEXPIRE', K, ceil(gone - now)) end
end
