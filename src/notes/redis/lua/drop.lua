-- drop(key, holder). ARGV: time, holder.
if holder == '' or holder ~= ARGV[2] then return 0 end
holder, held = '', 0
call('HSET', K, 'holder', '', 'held', '0')
expire()
return 1
