-- read(key). Replies {age, text}; the age is −1 when there is no note.
local age, text = note()
return { age, text }
