-- Which leases are still held. ARGV: time, epochs. Replies 1 or 0 for each.
clock(false)
local answers = {}
for i = 2, #ARGV do
  local deadline = call('ZSCORE', B .. ':deadlines', ARGV[i])
  answers[i - 1] = deadline and tonumber(deadline) > now and 1 or 0
end
return answers
