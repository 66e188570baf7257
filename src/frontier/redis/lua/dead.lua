-- A dead letter is one no longer: it is not counted among its code, nor shown for it. Not in prelude.lua, which has as many names as Lua takes.
local function leave_dead(c, code, fp)
  call('HINCRBY', B .. ':xc:' .. c.num, code, -1)
  call('ZREM', B .. ':x:' .. c.num, fp)
  if call('HGET', B .. ':xs:' .. c.num, code) == fp then call('HDEL', B .. ':xs:' .. c.num, code) end
end

